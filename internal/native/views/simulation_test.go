package views_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/openapi"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// simulation simulates a server with one object, for writes by several clients. It uses the
// code of kubectl to create patches, and that of the server to apply them and to maintain
// managed fields. Only the network and the storage are missing.
type simulation struct {
	t        *testing.T
	kind     schema.GroupVersionKind
	scheme   *runtime.Scheme
	typ      *ownership.Type
	fields   managedfieldstest.TestFieldManager
	cache    *ownership.Cache
	commands ownership.Commands
	// rejected has the reasons why the last write was rejected, and findings what it was warned of.
	rejected []string
	findings []ownership.Finding
}

// models returns the published models, and that of a custom resource.
func models() map[string]*spec.Schema {
	out := map[string]*spec.Schema{}
	for name, definition := range openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + name)
	}) {
		out[name] = &definition.Schema
	}
	widget := &spec.Schema{}
	if err := yaml.Unmarshal([]byte(widgetModel), widget); err != nil {
		panic(err)
	}
	out["dev.example.v1.Widget"] = widget
	return out
}

const widgetModel = `
type: object
x-kubernetes-group-version-kind: [{group: example.dev, version: v1, kind: Widget}]
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {$ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
  spec:
    type: object
    properties:
      size: {type: integer}
      parts:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          properties: {name: {type: string}, color: {type: string}}
`

// fixtures creates simulations. It holds what is expensive to create, so that it is created
// once.
type fixtures struct {
	types     *views.Types
	converter managedfields.TypeConverter
	scheme    *runtime.Scheme
	widget    *ownership.Type
}

func newFixtures(t testing.TB) *fixtures {
	t.Helper()
	all := models()
	// The converter looks kinds up by this extension. In the server it is added to the schema.
	for _, kind := range native.Kinds() {
		gvk := kind.GroupVersionKind()
		for name, model := range all {
			if strings.HasSuffix(name, "."+gvk.Version+"."+gvk.Kind) && strings.Contains(name, groupPart(gvk.Group)) {
				model.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
					"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind,
				}})
			}
		}
	}
	converter, err := managedfields.NewTypeConverter(all, false)
	if err != nil {
		t.Fatal(err)
	}
	managed, err := ownership.NewView(all, "dev.example.v1.Widget", ownership.ServerSide)
	if err != nil {
		t.Fatal(err)
	}
	return &fixtures{
		types: views.New(), converter: converter, scheme: native.NewScheme(),
		widget: &ownership.Type{Applied: ownership.Untyped(), Managed: managed},
	}
}

// groupPart returns the part of a model name that names the API group.
func groupPart(group string) string {
	if group == "" {
		return "api.core."
	}
	first, _, _ := strings.Cut(group, ".")
	return "api." + first + "."
}

func (l *fixtures) newSimulation(t *testing.T, kind schema.GroupVersionKind) *simulation {
	w := &simulation{
		t: t, kind: kind, scheme: l.scheme, cache: ownership.NewCache(1 << 20),
		fields: managedfieldstest.NewTestFieldManager(l.converter, kind),
	}
	if w.typ = l.types.Of(kind.GroupKind()); kind.Kind == "Widget" {
		w.typ = l.widget
	}
	return w
}

// live returns the stored object.
func (w *simulation) live() *unstructured.Unstructured {
	return w.fields.Live().(*unstructured.Unstructured)
}

func (w *simulation) exists() bool { return w.live().GetName() != "" }

func (w *simulation) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func encode(t *testing.T, obj any) []byte {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// normalize returns an object as the server would store it: with its defaults, without
// unknown fields and without duplicate owner references.
func (w *simulation) normalize(obj map[string]any) map[string]any {
	u := &unstructured.Unstructured{Object: obj}
	u.SetGroupVersionKind(w.kind)
	u.SetUID("uid-1")
	if !w.scheme.Recognizes(w.kind) {
		return obj
	}
	typed, err := w.scheme.New(w.kind)
	w.check(err)
	w.check(runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed))
	w.scheme.Default(typed)
	views.MergeStringData(typed)
	if accessor, err := meta.Accessor(typed); err == nil {
		accessor.SetOwnerReferences(withoutDuplicates(accessor.GetOwnerReferences()))
	}
	content, err := views.Content(typed)
	w.check(err)
	content["apiVersion"], content["kind"] = w.kind.ToAPIVersionAndKind()
	return content
}

// write checks and stores an object, and returns the warnings for the client. It stores
// nothing if the write is rejected.
func (w *simulation) write(request ownership.Request, obj map[string]any, replaced bool) []string {
	w.rejected, w.findings = nil, nil
	live, created := w.live(), !w.exists()
	writer := ownership.ParseWriter(request)
	obj = w.normalize(obj)
	if !created {
		verdict := w.judge(writer, live, &unstructured.Unstructured{Object: obj})
		if refusals := verdict.Refusals(); len(refusals) > 0 {
			for _, r := range refusals {
				w.rejected = append(w.rejected, r.Field+": "+r.Message)
			}
			return nil
		}
		verdict.Replaced, w.findings = replaced, verdict.Findings
		verdict.Explain(w.commands)
		w.remember(writer, live.Object, obj)
		w.check(w.fields.Update(&unstructured.Unstructured{Object: obj}, writer.Manager))
		return warningsOf(verdict)
	}
	w.check(w.fields.Update(&unstructured.Unstructured{Object: obj}, writer.Manager))
	return nil
}

func (w *simulation) judge(writer ownership.Writer, live, updated *unstructured.Unstructured) ownership.Verdict {
	return ownership.Judge(ownership.Write{
		Type: w.typ, Live: live.Object, New: updated.Object, Writer: writer,
		LiveManagers: live.GetManagedFields(), NewManagers: updated.GetManagedFields(),
	}, w.cache)
}

// remember records the command that changed the fields, as the server does.
func (w *simulation) remember(writer ownership.Writer, live, updated map[string]any) {
	if !writer.Exact || writer.Act == ownership.Apply {
		return
	}
	var fields []string
	for _, path := range w.typ.Changed(live, updated, ownership.MaxFields) {
		fields = append(fields, path.String())
	}
	w.commands.Add(ownership.Command{Command: writer.Command, Manager: writer.Manager, Time: time.Now(), Fields: fields})
}

var instant = regexp.MustCompile(`at \d{4}-[0-9T:-]+Z`)

// warningsOf returns the warnings of a verdict, without times.
func warningsOf(v ownership.Verdict) []string {
	var out []string
	for _, line := range v.Warnings() {
		out = append(out, instant.ReplaceAllString(line, "at TIME"))
	}
	return out
}

// containsAll reports whether got has everything in want. In a map of want, null means that
// got must not have the key.
func containsAll(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		for k, v := range want {
			if v == nil {
				if _, there := got[k]; there {
					return false
				}
			} else if !ok || !containsAll(got[k], v) {
				return false
			}
		}
		return ok
	case []any:
		got, ok := got.([]any)
		return ok && slices.EqualFunc(got, want, containsAll)
	}
	return got == want
}

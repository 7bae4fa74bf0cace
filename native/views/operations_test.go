package views_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/native"
	"holdfast.dev/holdfast/native/openapi"
	"holdfast.dev/holdfast/native/views"
	"holdfast.dev/holdfast/ownership"
)

// world is one object and those who write to it. Patches are made and applied by
// the libraries of kubectl and the server, and managed fields are kept by those
// of the server; only the network and the storage are missing.
type world struct {
	t        *testing.T
	kind     schema.GroupVersionKind
	scheme   *runtime.Scheme
	typ      *ownership.Type
	fields   managedfieldstest.TestFieldManager
	cache    *ownership.Cache
	commands ownership.Commands
	// refused says why the last write was refused.
	refused []string
}

// operation is a write; it returns the lines its writer reads.
type operation func(w *world) []string

// models are the published models, and that of a custom resource.
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

// laboratory makes worlds; what is expensive is made once.
type laboratory struct {
	types     *views.Types
	converter managedfields.TypeConverter
	scheme    *runtime.Scheme
	widget    *ownership.Type
}

func newLaboratory(t testing.TB) *laboratory {
	t.Helper()
	all := models()
	// The converter finds kinds by this extension, which the server adds.
	for _, kind := range native.Kinds() {
		gvk := kind.GroupVersionKind()
		for name, model := range all {
			if strings.HasSuffix(name, "."+gvk.Version+"."+gvk.Kind) && strings.Contains(name, groupPart(gvk.Group)) {
				model.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}})
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
	return &laboratory{
		types: views.New(), converter: converter, scheme: native.NewScheme(),
		widget: &ownership.Type{Applied: ownership.Loose(), Managed: managed},
	}
}

func groupPart(group string) string {
	if group == "" {
		return "api.core."
	}
	first, _, _ := strings.Cut(group, ".")
	return "api." + first + "."
}

func (l *laboratory) world(t *testing.T, kind schema.GroupVersionKind) *world {
	w := &world{t: t, kind: kind, scheme: l.scheme, fields: managedfieldstest.NewTestFieldManager(l.converter, kind), cache: ownership.NewCache(1 << 20)}
	if w.typ = l.types.Of(kind.GroupKind()); kind.Kind == "Widget" {
		w.typ = l.widget
	}
	return w
}

func (w *world) live() *unstructured.Unstructured {
	return w.fields.Live().(*unstructured.Unstructured)
}

func (w *world) exists() bool { return w.live().GetName() != "" }

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	var out map[string]any
	if err == nil {
		err = utiljson.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func encode(t *testing.T, obj any) []byte {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// normalize makes what a server would store of an object.
func (w *world) normalize(obj map[string]any) map[string]any {
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
	content, err := views.Content(typed)
	w.check(err)
	content["apiVersion"], content["kind"] = w.kind.ToAPIVersionAndKind()
	return content
}

// write stores an object and gives what the writer reads.
func (w *world) write(request ownership.Request, obj map[string]any, replaced bool) []string {
	w.refused = nil
	live, created := w.live(), !w.exists()
	writer := ownership.ParseWriter(request)
	obj = w.normalize(obj)
	if !created {
		verdict := w.judge(writer, live, &unstructured.Unstructured{Object: obj})
		if refusals := verdict.Refusals(); len(refusals) > 0 {
			for _, r := range refusals {
				w.refused = append(w.refused, r.Field+": "+r.Message)
			}
			return nil
		}
		verdict.Replaced = replaced
		verdict.Explain(w.commands)
		w.remember(writer, live.Object, obj)
		w.check(w.fields.Update(&unstructured.Unstructured{Object: obj}, writer.Manager))
		return lines(verdict)
	}
	w.check(w.fields.Update(&unstructured.Unstructured{Object: obj}, writer.Manager))
	return nil
}

func (w *world) judge(writer ownership.Writer, live, updated *unstructured.Unstructured) ownership.Verdict {
	return ownership.Judge(ownership.Write{
		Type: w.typ, Live: live.Object, New: updated.Object, Writer: writer,
		LiveManagers: live.GetManagedFields(), NewManagers: updated.GetManagedFields(),
	}, w.cache)
}

func (w *world) remember(writer ownership.Writer, live, updated map[string]any) {
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

func lines(v ownership.Verdict) []string {
	var out []string
	for _, line := range v.Warnings() {
		out = append(out, instant.ReplaceAllString(line, "at TIME"))
	}
	return out
}

// apply is kubectl apply of a file.
func apply(file string) operation {
	return func(w *world) []string {
		return w.apply(ownership.Request{Command: "kubectl apply", FieldManager: "kubectl-client-side-apply", User: "jane"}, file)
	}
}

func (w *world) apply(request ownership.Request, file string) []string {
	config := parse(w.t, file)
	text, err := ownership.Replacement(config)
	w.check(err)
	modified := w.annotate(config, text)
	if !w.exists() {
		return w.write(request, modified, false)
	}
	live := w.live()
	original := []byte(live.GetAnnotations()[ownership.LastApplied])
	current := encode(w.t, live.Object)
	if typed, err := w.scheme.New(w.kind); err == nil {
		meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
		w.check(err)
		patch, err := strategicpatch.CreateThreeWayMergePatch(original, encode(w.t, modified), current, meta, true)
		w.check(err)
		merged, err := strategicpatch.StrategicMergePatch(current, patch, typed)
		w.check(err)
		return w.write(request, parse(w.t, string(merged)), false)
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, encode(w.t, modified), current)
	w.check(err)
	return w.write(request, mergePatch(parse(w.t, string(current)), parse(w.t, string(patch))), false)
}

// mergePatch is a JSON merge patch.
func mergePatch(obj, patch map[string]any) map[string]any {
	for name, value := range patch {
		below, isMap := value.(map[string]any)
		old, wasMap := obj[name].(map[string]any)
		switch {
		case value == nil:
			delete(obj, name)
		case isMap && wasMap:
			obj[name] = mergePatch(old, below)
		default:
			obj[name] = value
		}
	}
	return obj
}

func (w *world) annotate(config map[string]any, text string) map[string]any {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(config)}
	annotations := maps.Clone(u.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownership.LastApplied] = text
	u.SetAnnotations(annotations)
	return u.Object
}

// run is a patch by any command: run("kubectl set image", "kubectl-set", ...).
func run(command, manager, patch string) operation {
	return as(ownership.Request{Command: command, FieldManager: manager, UserAgent: "kubectl/v1", User: "jane"}, patch)
}

// edit is kubectl edit.
func edit(patch string) operation { return run("kubectl edit", "kubectl-edit", patch) }

// as is a patch by anybody.
func as(request ownership.Request, patch string) operation {
	return func(w *world) []string {
		current, data := encode(w.t, w.live().Object), encode(w.t, parse(w.t, patch))
		typed, err := w.scheme.New(w.kind)
		if err != nil {
			return w.write(request, mergePatch(parse(w.t, string(current)), parse(w.t, patch)), false)
		}
		merged, err := strategicpatch.StrategicMergePatch(current, data, typed)
		w.check(err)
		return w.write(request, parse(w.t, string(merged)), false)
	}
}

// create is kubectl create of a file.
func create(file string) operation {
	return func(w *world) []string {
		return w.write(ownership.Request{Command: "kubectl create", FieldManager: "kubectl-create", User: "jane"}, parse(w.t, file), false)
	}
}

// replace is kubectl replace of a file.
func replace(file string) operation {
	return func(w *world) []string {
		config := parse(w.t, file)
		updated, live := config, w.live()
		text, replaced := live.GetAnnotations()[ownership.LastApplied], false
		if text != "" && !ownership.SameBesides(w.typ, live.Object, w.normalize(runtime.DeepCopyJSON(config))) {
			var err error
			text, err = ownership.Replacement(config)
			w.check(err)
			replaced = true
		}
		if text != "" {
			updated = w.annotate(config, text)
		}
		return w.write(ownership.Request{Command: "kubectl replace", FieldManager: "kubectl-replace", User: "jane"}, updated, replaced)
	}
}

// applyServerSide is a server-side apply of a person.
func applyServerSide(manager string, force bool, file string) operation {
	return func(w *world) []string {
		live := w.live()
		existed := w.exists()
		err := w.fields.Apply(&unstructured.Unstructured{Object: parse(w.t, file)}, manager, force)
		if err != nil {
			w.refused = []string{"conflict"}
			return nil
		}
		if !existed {
			return nil
		}
		writer := ownership.ParseWriter(ownership.Request{
			Command: "kubectl apply", FieldManager: manager, User: "jane", ServerSide: true, Forced: force,
		})
		verdict := w.judge(writer, live, w.live())
		verdict.Explain(w.commands)
		return lines(verdict)
	}
}

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

package custom

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver/subresource"
	"holdfast.dev/holdfast/definition"
)

// FuzzDiffering checks that a field manager that compares only the differing parts of two objects
// records the same managed fields as Kubernetes' field manager, for random schemas, objects,
// managers and subresources.
func FuzzDiffering(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	var mu sync.Mutex
	var writes, quick int
	f.Cleanup(func() {
		if writes > 500 && quick < writes/2 {
			f.Errorf("of %d writes, the parts of only %d were compared", writes, quick)
		}
	})
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := boats{rand.New(rand.NewPCG(seed, 60))}
		v, schema := g.version(t)
		empty := newObject(v.groupVersionKind())
		live := content(v.manager(t, v.updates(), "").UpdateNoErrors(empty, g.object(v, schema, nil), "creator"))
		live.SetUID("1")
		for range 8 {
			by, part := fmt.Sprint("m", g.IntN(4)), []string{"", "", "status"}[g.IntN(3)]
			updated := g.object(v, schema, live)
			if g.IntN(4) == 0 {
				live = applied(t, v, part, live, updated, by)
				continue
			}
			types := &differingTypes{updateTypes: v.updates(), stored: live}
			got := v.manager(t, types, part).UpdateNoErrors(live, copied(updated), by)
			want := content(v.manager(t, v.updates(), part).UpdateNoErrors(live, updated, by))
			if diff := gocmp.Diff(timeless(want), timeless(content(got))); diff != "" {
				t.Fatalf("schema %s\nstored %v\n-Kubernetes +got:\n%s", schema, live.Object, diff)
			}
			mu.Lock()
			writes++
			if types.storedPart != nil {
				quick++
			}
			mu.Unlock()
			live = want
			live.SetUID("1")
		}
	})
}

// applied returns an object after a server-side apply of another object.
func applied(t *testing.T, v *version, part string, live, config *object, by string) *object {
	t.Helper()
	config = content(config.DeepCopyObject())
	config.Object["metadata"] = map[string]any{"name": "a"}
	types := applyTypes{TypeConverter: v.resource.merger.types, resource: v.resource, refused: new(bool)}
	out, err := v.manager(t, types, part).Apply(live, &config.Unstructured, by, true)
	if err != nil {
		return live // the configuration does not fit the schema
	}
	result := content(out)
	result.SetUID("1")
	return result
}

func copied(obj *object) *object { return objectOf(runtime.DeepCopyJSON(obj.Object)) }

// timeless returns the content of an object without the times of its managed fields.
func timeless(obj *object) map[string]any {
	out := copied(obj)
	entries := out.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	// The field manager sorts the entries by their time.
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(strings.Compare(a.Manager, b.Manager), strings.Compare(string(a.Operation), string(b.Operation)),
			strings.Compare(a.Subresource, b.Subresource))
	})
	out.SetManagedFields(entries)
	return out.Object
}

func (v *version) updates() updateTypes { return updateTypes{v.resource.merger.types, v.resource} }

// manager returns a field manager for the objects of a version or their status.
func (v *version) manager(t *testing.T, types managedfields.TypeConverter, part string) *managedfields.FieldManager {
	t.Helper()
	converts := convertor{resource: v.resource}
	reset := subresource.ResetFields(subresource.TopLevel("status"), v.groupVersion())
	if part == "status" {
		reset = subresource.ResetFields(subresource.TopLevel("spec", "metadata"), v.groupVersion())
	}
	scope, err := merger{types}.scope(handlers.RequestScope{
		Kind: v.groupVersionKind(), HubGroupVersion: v.groupVersion(), Subresource: part,
		Creater: creater{}, Convertor: converts, Defaulter: defaulter{converts},
	}, reset)
	if err != nil {
		t.Fatal(err)
	}
	return scope.FieldManager
}

// boats generates definitions and objects.
type boats struct{ *rand.Rand }

// version returns a version with a random schema.
func (g boats) version(t *testing.T) (*version, string) {
	t.Helper()
	schema := fmt.Sprintf(`{type: object, properties: {spec: %s, status: %s}}`, g.schema(3), g.schema(2))
	var crd definition.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(`
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: `+schema+`}}
`), &crd); err != nil {
		t.Fatal(err)
	}
	crd.Status.AcceptedNames = crd.Spec.Names
	compiled, err := definition.Compile(&crd)
	if err != nil {
		t.Fatal(err)
	}
	r := newResource(&Server{config: Config{Models: map[string]*spec.Schema{metav1.ObjectMeta{}.OpenAPIModelName(): objectMeta(t)}}}, &crd)
	v := r.versions["v1"]
	v.compiled = compiled["v1"]
	types, err := newTypes(r)
	if err != nil {
		t.Fatal(err)
	}
	r.merger = merger{types}
	return v, schema
}

// objectMeta returns the model of metadata, with the fields that the test uses.
func objectMeta(t *testing.T) *spec.Schema {
	t.Helper()
	model := &spec.Schema{}
	if err := json.Unmarshal([]byte(`{"type": "object", "properties": {
		"name": {"type": "string"}, "uid": {"type": "string"},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
		"managedFields": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			"x-kubernetes-list-type": "atomic"}}}`), model); err != nil {
		t.Fatal(err)
	}
	return model
}

var scalars = []string{`{type: string}`, `{type: integer}`, `{type: boolean, nullable: true}`, `{x-kubernetes-int-or-string: true}`}

// schema returns a random schema as YAML.
func (g boats) schema(depth int) string {
	if depth == 0 {
		return scalars[g.IntN(len(scalars))]
	}
	fields := fmt.Sprintf(`{a: %s, b: %s, c: %s}`, g.schema(depth-1), g.schema(depth-1), g.schema(0))
	switch g.IntN(9) {
	case 0:
		return `{type: array, items: ` + g.schema(depth-1) + `}`
	case 1:
		return `{type: array, x-kubernetes-list-type: set, items: {type: string}}`
	case 2:
		return `{type: object, nullable: true, additionalProperties: ` + g.schema(depth-1) + `}`
	case 3:
		return `{type: object, x-kubernetes-map-type: atomic, properties: ` + fields + `}`
	case 4:
		return `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: ` + fields + `}`
	case 5, 6:
		return `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: ` +
			`{type: object, required: [k], properties: {k: {type: string}, v: ` + g.schema(depth-1) + `}}}`
	}
	return `{type: object, properties: ` + fields + `}`
}

// object returns a random object. Most of its values are those of the stored object.
func (g boats) object(v *version, schema string, stored *object) *object {
	var shape map[string]any
	if err := yaml.Unmarshal([]byte(schema), &shape); err != nil {
		panic(err)
	}
	before := map[string]any{}
	if stored != nil {
		before = runtime.DeepCopyJSON(stored.Object)
	}
	made, _ := g.value(shape, before).(map[string]any)
	obj := objectOf(made)
	obj.SetGroupVersionKind(v.groupVersionKind())
	metadata, ok := before["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{"name": "a"}
	}
	obj.Object["metadata"] = metadata
	obj.SetLabels(map[string]string{"x": fmt.Sprint(g.IntN(3)), fmt.Sprint(g.IntN(3)): "y"})
	obj.SetFinalizers([]string{"f", fmt.Sprint("g", g.IntN(3))}[:g.IntN(3)])
	switch g.IntN(6) {
	case 0:
		obj.SetManagedFields(nil)
	case 1:
		if g.IntN(4) == 0 {
			obj.SetManagedFields([]metav1.ManagedFieldsEntry{})
		}
	}
	// The server prunes and completes every object before the field manager sees it.
	v.complete(obj.Object)
	return obj
}

// value returns a random value of a schema; before is the stored value.
func (g boats) value(schema map[string]any, before any) any {
	if before != nil && g.IntN(3) == 0 {
		return before
	}
	if g.IntN(60) == 0 {
		return []any{nil, "wrong", int64(7), map[string]any{"wrong": "x"}, []any{}}[g.IntN(5)]
	}
	switch schema["type"] {
	case "string":
		return fmt.Sprint("s", g.IntN(3))
	case "integer":
		return []any{int64(g.IntN(3)), float64(g.IntN(3))}[g.IntN(2)]
	case "boolean":
		return []any{true, false, nil}[g.IntN(3)]
	case "array":
		return g.list(schema, before)
	case "object":
		return g.fields(schema, before)
	}
	return []any{int64(g.IntN(2)), fmt.Sprint("s", g.IntN(2))}[g.IntN(2)]
}

func (g boats) list(schema map[string]any, before any) any {
	items, _ := schema["items"].(map[string]any)
	old, _ := before.([]any)
	out := []any{}
	for i := range g.IntN(4) {
		var item any
		if i < len(old) {
			item = old[i]
		}
		made := g.value(items, item)
		if _, isMap := schema["x-kubernetes-list-map-keys"]; isMap {
			fields, ok := made.(map[string]any)
			if !ok {
				fields = map[string]any{}
			}
			fields["k"] = fmt.Sprint("k", g.IntN(4))
			made = fields
		}
		out = append(out, made)
	}
	return out
}

func (g boats) fields(schema map[string]any, before any) any {
	old, _ := before.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	if element, ok := schema["additionalProperties"].(map[string]any); ok {
		properties = map[string]any{"p": element, "q": element}
	}
	out := map[string]any{}
	for name, property := range properties {
		if one, ok := property.(map[string]any); ok && g.IntN(4) > 0 {
			out[name] = g.value(one, old[name])
		}
	}
	if schema["x-kubernetes-preserve-unknown-fields"] == true && g.IntN(2) == 0 {
		out["u"] = []any{"x", int64(g.IntN(2)), map[string]any{"w": "x"}, []any{"x", int64(g.IntN(2))}}[g.IntN(4)]
	}
	return out
}

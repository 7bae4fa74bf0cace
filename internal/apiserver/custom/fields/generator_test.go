package fields

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// boats generates definitions and objects.
type boats struct{ *rand.Rand }

// version returns a version with a random schema.
func (g boats) version(t *testing.T) (*kind.Version, string) {
	t.Helper()
	schema := fmt.Sprintf(`{type: object, properties: {spec: %s, status: %s}}`, g.schema(3), g.schema(2))
	return versionWith(t, schema), schema
}

// versionWith returns a version with a schema.
func versionWith(t *testing.T, schema string) *kind.Version {
	t.Helper()
	crd := *yamltest.Decode[definition.CustomResourceDefinition](t, `
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: `+schema+`}}
`)
	crd.Status.AcceptedNames = crd.Spec.Names
	sets, _ := fieldset.New()
	converters, err := conversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := kind.New(&crd, &kind.Config{
		Converters: converters, Models: map[string]*spec.Schema{metav1.ObjectMeta{}.OpenAPIModelName(): objectMeta(t)},
		Sets: sets, Observe: func(time.Time, error) {},
	})
	if err := errors.Join(k.Compile(), k.CompileWrites()); err != nil {
		t.Fatal(err)
	}
	return k.Versions["v1"]
}

// objectMeta returns the model of metadata, with the fields that the test uses.
func objectMeta(t *testing.T) *spec.Schema {
	t.Helper()
	model := yamltest.Known[spec.Schema](t, `{"type": "object", "properties": {
		"name": {"type": "string"}, "uid": {"type": "string"},
		"annotations": {"type": "object", "additionalProperties": {"type": "string"}},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
		"managedFields": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			"x-kubernetes-list-type": "atomic"}}}`)
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
func (g boats) object(v *kind.Version, schema string, stored *object.Object) *object.Object {
	var shape map[string]any
	if err := yaml.Unmarshal([]byte(schema), &shape); err != nil {
		panic(err)
	}
	before := map[string]any{}
	if stored != nil {
		before = runtime.DeepCopyJSON(stored.Object)
	}
	made, _ := g.value(shape, before).(map[string]any)
	obj := object.Of(made)
	obj.SetGroupVersionKind(v.GroupVersionKind())
	metadata, ok := before["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{"name": "a"}
	}
	obj.Object["metadata"] = metadata
	obj.SetLabels(map[string]string{"x": fmt.Sprint(g.IntN(3)), fmt.Sprint(g.IntN(3)): "y"})
	obj.SetFinalizers([]string{"f", []string{"g0", "g1", "g2", "f"}[g.IntN(4)]}[:g.IntN(3)])
	switch g.IntN(6) {
	case 0:
		obj.SetManagedFields(nil)
	case 1:
		if g.IntN(4) == 0 {
			obj.SetManagedFields([]metav1.ManagedFieldsEntry{})
		}
	}
	// The server prunes and completes every object before the field manager sees it.
	v.Conform(obj.Object)
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

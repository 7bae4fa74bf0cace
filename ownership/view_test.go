package ownership_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// Managed fields may have been written under an earlier schema that had fields where
// the current schema has one value.
func TestCoarserSchema(t *testing.T) {
	const owned = `{"f:spec":{"f:sel":{"f:a":{"f:b":{}}}}}`
	for name, test := range map[string]struct {
		sel, managed  string
		live, updated string
		want          []string
	}{
		"an atomic map": {
			`{type: object, x-kubernetes-map-type: atomic, properties: {a: {type: object, properties: {b: {type: integer}}}}}`, owned,
			`{a: {b: 1, c: 1}}`, `{a: {b: 1, c: 2}}`,
			[]string{`.spec.sel {"a":{"b":1,"c":1}} {"a":{"b":1,"c":2}}`},
		},
		"an atomic map that stays": {
			`{type: object, x-kubernetes-map-type: atomic}`, owned, `{a: {b: 1}}`, `{a: {b: 1}}`, nil,
		},
		"a scalar": {`{type: string}`, owned, `{a: {b: 1}}`, `text`, []string{`.spec.sel {"a":{"b":1}} "text"`}},
		"one of several types": {
			`{anyOf: [{type: integer}, {type: string}]}`, owned, `{a: {b: 1}}`, `{a: {b: 2}}`,
			[]string{`.spec.sel {"a":{"b":1}} {"a":{"b":2}}`},
		},
		"a list without keys": {
			`{type: array, items: {type: object}}`, `{"f:spec":{"f:sel":{"k:{\"name\":\"a\"}":{"f:in":{"f:b":{}}}}}}`,
			`[{name: a, in: {b: 1}}]`, `[{name: a, in: {b: 2}}]`,
			[]string{`.spec.sel [{"in":{"b":1},"name":"a"}] [{"in":{"b":2},"name":"a"}]`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var model spec.Schema
			text := `{type: object, properties: {spec: {type: object, properties: {sel: ` + test.sel + `}}}}`
			if err := yaml.Unmarshal([]byte(text), &model); err != nil {
				t.Fatal(err)
			}
			managed, err := ownership.NewView(map[string]*spec.Schema{"m": &model}, "m", ownership.ServerSide)
			if err != nil {
				t.Fatal(err)
			}
			verdict := ownership.Judge(ownership.Write{
				Type: &ownership.Type{Applied: ownership.Untyped(), Managed: managed}, Writer: person,
				Live: yamltest.Map(t, `{spec: {sel: `+test.live+`}}`), New: yamltest.Map(t, `{spec: {sel: `+test.updated+`}}`),
				LiveManagers: []metav1.ManagedFieldsEntry{{Manager: "ci", Operation: "Apply", FieldsV1: metav1.NewFieldsV1(test.managed)}},
			}, nil)
			var got []string
			for _, f := range verdict.Findings {
				got = append(got, fmt.Sprintf("%s %s %s", f.Path, verdict.Show(f.Live), verdict.Show(f.New)))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// The keys of a list are []any in a decoded schema, and []string in others.
func TestListMapKeys(t *testing.T) {
	for name, keys := range map[string]any{"read": []any{"name"}, "made": []string{"name"}} {
		list := spec.ArrayProperty(spec.MapProperty(nil))
		list.AddExtension("x-kubernetes-list-type", "map")
		list.AddExtension("x-kubernetes-list-map-keys", keys)
		model := new(spec.Schema).Typed("object", "").SetProperty("parts", *list)
		managed, err := ownership.NewView(map[string]*spec.Schema{"m": model}, "m", ownership.ServerSide)
		if err != nil {
			t.Fatal(err)
		}
		verdict := ownership.Judge(ownership.Write{
			Type: &ownership.Type{Applied: ownership.Untyped(), Managed: managed}, Writer: person,
			Live: yamltest.Map(t, `{parts: [{name: a, color: red}]}`), New: yamltest.Map(t, `{parts: [{name: a, color: blue}, {name: b}]}`),
			LiveManagers: []metav1.ManagedFieldsEntry{
				{Manager: "ci", Operation: "Apply", FieldsV1: metav1.NewFieldsV1(
					`{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:color":{}}}}`)},
			},
		}, nil)
		if len(verdict.Findings) != 1 || verdict.Findings[0].Path.String() != `.parts[name="a"].color` {
			t.Errorf("%s: said %q", name, verdict.Warnings())
		}
	}
}

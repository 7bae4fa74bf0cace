package definition_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// Validate accepts every schema that upstream accepts. The only exception is a schema
// with additionalProperties beside properties.
func TestWhatUpstreamAccepts(t *testing.T) {
	accepted := 0
	for seed := range uint64(400) {
		g := generator{rand.New(rand.NewPCG(seed, 4))}
		raw := asJSON(t, g.root())
		crd := read(t, widgets(`{type: object}`))
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema = raw
		if seed%3 == 0 {
			crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
				Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
			}
		}
		theirs := validateUpstream(t, crd)
		w := definition.Write{APIVersion: definition.V1}
		w.Prepare(crd)
		ours := w.Validate(t.Context(), crd)
		if len(theirs) > 0 {
			continue
		}
		accepted++
		for _, err := range ours {
			if !strings.Contains(err.Detail, "must not be used beside properties") {
				t.Errorf("seed %d: upstream accepts %s\nwe say %v", seed, raw, err)
			}
		}
		if versions, err := definition.Compile(crd); err != nil || len(ours) == 0 && versions["v1"] == nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if c, ok := definition.NonStructural(crd); ok {
			t.Errorf("seed %d: upstream calls it structural: %s", seed, c.Message)
		}
	}
	t.Logf("upstream accepts %d of 400", accepted)
	if accepted < 100 {
		t.Errorf("only %d schemas were accepted by upstream: the generator makes too few structural schemas", accepted)
	}
}

func validateUpstream(t *testing.T, crd *definition.CustomResourceDefinition) field.ErrorList {
	t.Helper()
	typed := yamltest.Known[apiextensionsv1.CustomResourceDefinition](t, asJSON(t, crd))
	apiextensionsv1.SetDefaults_CustomResourceDefinition(typed)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(typed, internal, nil); err != nil {
		t.Fatal(err)
	}
	return validation.ValidateCustomResourceDefinition(t.Context(), internal)
}

// generator makes random schemas. About half of them are structural.
type generator struct{ *rand.Rand }

func (g generator) maybe(percent int) bool { return g.IntN(100) < percent }

func (g generator) root() map[string]any {
	s := g.object(3)
	if g.maybe(20) {
		name := map[string]any{"type": "string", "maxLength": 5}
		metadata := map[string]any{"type": "object", "properties": map[string]any{"name": name}}
		s["properties"].(map[string]any)["metadata"] = metadata
	}
	if g.maybe(5) {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	return s
}

func (g generator) node(depth int) map[string]any {
	kinds := 8
	if depth == 0 {
		kinds = 4
	}
	s := map[string]any{}
	switch g.IntN(kinds) {
	case 0:
		s = map[string]any{"type": "string", "maxLength": 10}
		g.add(s, 20, "default", "x")
		g.add(s, 10, "enum", []any{"x", "z"})
		g.add(s, 10, "format", "date-time")
		g.add(s, 10, "x-kubernetes-validations", []any{map[string]any{"rule": "self != 'q'"}})
		g.add(s, 5, "pattern", "^x")
	case 1:
		s = map[string]any{"type": "integer"}
		g.add(s, 20, "default", 1)
		g.add(s, 10, "minimum", 1)
		g.add(s, 10, "multipleOf", 1)
	case 2:
		s = map[string]any{"x-kubernetes-int-or-string": true}
		g.add(s, 30, "anyOf", []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}})
		g.add(s, 20, "default", "5")
	case 3:
		s = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
		g.add(s, 50, "type", "object")
		g.add(s, 10, "default", map[string]any{"any": 1})
	case 4:
		s = map[string]any{"type": "array", "items": g.node(depth - 1), "maxItems": 5}
		g.add(s, 20, "x-kubernetes-list-type", "atomic")
	case 5:
		s = map[string]any{"type": "object", "maxProperties": 5, "additionalProperties": g.node(depth - 1)}
		g.add(s, 10, "default", map[string]any{})
	case 6:
		item := g.object(depth - 1)
		item["required"] = []any{"key"}
		item["properties"].(map[string]any)["key"] = map[string]any{"type": "string", "maxLength": 5}
		s = map[string]any{
			"type": "array", "maxItems": 5, "items": item,
			"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"key"},
		}
	case 7:
		s = g.object(depth - 1)
		g.add(s, 10, "x-kubernetes-embedded-resource", true)
		g.add(s, 10, "x-kubernetes-map-type", "atomic")
		g.add(s, 20, "default", map[string]any{})
	}
	g.add(s, 15, "nullable", true)
	g.add(s, 10, "description", "text")
	g.add(s, 3, "default", nil)
	g.add(s, 1, "uniqueItems", true)
	return s
}

func (g generator) object(depth int) map[string]any {
	properties := map[string]any{"a": g.node(max(depth, 0))}
	for _, name := range []string{"b", "c"} {
		g.add(properties, 50, name, g.node(max(depth, 0)))
	}
	s := map[string]any{"type": "object", "properties": properties}
	g.add(s, 15, "required", []any{"a"})
	g.add(s, 15, "oneOf", []any{map[string]any{"required": []any{"a"}}, map[string]any{"not": map[string]any{"required": []any{"a"}}}})
	g.add(s, 15, "anyOf", []any{
		map[string]any{"properties": map[string]any{"a": map[string]any{"enum": []any{"x", 1}}}},
		map[string]any{"required": []any{"b"}},
	})
	g.add(s, 10, "x-kubernetes-validations", []any{map[string]any{"rule": "has(self.a)"}})
	g.add(s, 2, "additionalProperties", true)
	return s
}

func (g generator) add(s map[string]any, percent int, key string, value any) {
	if g.maybe(percent) {
		s[key] = value
	}
}

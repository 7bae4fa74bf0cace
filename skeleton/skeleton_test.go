package skeleton_test

import (
	stdjson "encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

func schemaOf(t testing.TB, in any) *schema.Schema {
	t.Helper()
	s, unknown, err := schema.Decode(in)
	if err != nil || len(unknown) > 0 {
		t.Fatalf("decode schema: %v, unknown: %v", err, unknown)
	}
	return s
}

func build(t testing.TB, text string) *skeleton.Skeleton {
	t.Helper()
	return skeleton.Build(schemaOf(t, yamltest.Value(t, text)))
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	out, err := stdjson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestExamples(t *testing.T) {
	const (
		example1 = `{"properties": {"a": {}, "b": {"type": "string"}, "c": {"not": {}}}}`
		example2 = `{"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}`
		example3 = `{"properties": {"a": {}, "b": {"type": "string", "properties": {"x": {}}}},
			"anyOf": [{"properties": {"c":{}}}, {"properties": {"d":{"not":{}}}}]}`
		example5 = `{"anyOf": [
				{"properties": {"a": {"type": "string"}}},
				{"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}],
			"properties": {"c": {}}}`
		example6 = `{"anyOf": [{"properties": {"a": {"type": "string"}}}, {"additionalProperties": {"type": "integer"}}]}`
	)
	t.Run("skeletons", func(t *testing.T) {
		for in, want := range map[string]string{
			example1: `{"properties":{"a":{},"b":{"type":"string"},"c":{}}}`,
			example2: `{"properties":{"a":{},"b":{}}}`,
			example3: `{"properties":{"a":{},"b":{"properties":{"x":{}},"type":"string"},"c":{},"d":{}}}`,
			example5: `{"properties":{"a":{},"b":{"type":"string"},"c":{}}}`,
			example6: `{"additionalProperties":{"type":"integer"},"properties":{"a":{"type":"string"}}}`,
		} {
			if got := toJSON(t, build(t, in).Schema()); got != want {
				t.Errorf("skeleton of %s:\nwant %s\ngot  %s", in, want, got)
			}
		}
	})
	t.Run("pruning", func(t *testing.T) {
		for in, tc := range map[string]struct{ obj, want string }{
			example1: {`{"a":1,"c":3,"d":4}`, `{"a":1,"c":3}`},
			example2: {`{"a":1,"b":2,"c":3}`, `{"a":1,"b":2}`},
			example3: {`{"a":1,"b":{"x":1,"yy":2},"c":3,"d":4,"e":5}`, `{"a":1,"b":{"x":1},"c":3,"d":4}`},
		} {
			obj := yamltest.Map(t, tc.obj)
			build(t, in).Prune(obj)
			if got := toJSON(t, obj); got != tc.want {
				t.Errorf("%s pruned: want %s, got %s", tc.obj, tc.want, got)
			}
		}
	})
	t.Run("the type of b in example 5 does not bind", func(t *testing.T) {
		if wrong := build(t, example5).Check(yamltest.Map(t, `{"a":"x","b":5}`)); len(wrong) > 0 {
			t.Errorf("refused what the schema accepts: %v", wrong)
		}
	})
	t.Run("example 6 is refused: it has properties beside additionalProperties", func(t *testing.T) {
		want := []string{"additionalProperties"}
		if diff := cmp.Diff(want, refusedPaths(t, skeleton.Rules{}, example6)); diff != "" {
			t.Errorf("refused paths (-want +got):\n%s", diff)
		}
	})
}

func TestSkeleton(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"value validation goes": {
			`{type: object, required: [a], description: x, properties: {a: {type: string, pattern: x, format: ip, enum: [a], default: a}}}`,
			`{type: object, properties: {a: {type: string}}}`,
		},
		"types agree through logic": {
			`{properties: {a: {type: string, allOf: [{type: string}], anyOf: [{}, {oneOf: [{type: string}]}]}}}`,
			`{properties: {a: {type: string}}}`,
		},
		"types disagree": {
			`{properties: {a: {type: string, allOf: [{anyOf: [{type: integer}]}]}}}`,
			`{properties: {a: {}}}`,
		},
		"not gives structure and no type": {
			`{properties: {a: {type: string, not: {type: integer, properties: {b: {type: string}}}}, c: {not: {type: string}}}}`,
			`{properties: {a: {type: string, properties: {b: {}}}, c: {}}}`,
		},
		"nullable if any part says so": {
			`{properties: {a: {anyOf: [{nullable: true}, {nullable: false}]}, b: {nullable: false}}}`,
			`{properties: {a: {nullable: true}, b: {}}}`,
		},
		"lists": {
			`{properties: {a: {items: {type: string}, allOf: [{items: {properties: {x: {}}}}]},
			  b: {items: [{type: string}], additionalItems: {type: string}, anyOf: [{items: [{}, {type: integer}], additionalItems: true}]},
			  c: {items: [{}], additionalItems: true}, d: {items: [{}], additionalItems: false}, e: {items: []}}}`,
			`{properties: {a: {items: {type: string, properties: {x: {}}}},
			  b: {items: [{type: string}, {type: integer}], additionalItems: {type: string}},
			  c: {items: [{}], additionalItems: true}, d: {items: [{}]}, e: {}}}`,
		},
		"maps": {
			`{properties: {a: {additionalProperties: true}, b: {additionalProperties: false}, c: {additionalProperties: true,
				allOf: [{additionalProperties: {type: string}}]},
			  d: {patternProperties: {x: {type: string}}, oneOf: [{patternProperties: {x: {}, yy: {}}}]}, e: {properties: {}}}}`,
			`{properties: {a: {additionalProperties: true}, b: {}, c: {additionalProperties: {type: string}},
			  d: {patternProperties: {x: {type: string}, yy: {}}}, e: {}}}`,
		},
		"extensions stay on the spine and nowhere else": {
			`{x-kubernetes-preserve-unknown-fields: true, allOf: [{x-kubernetes-embedded-resource: true,
				properties: {b: {x-kubernetes-int-or-string: true}}}],
			  properties: {a: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]}, b: {x-kubernetes-map-type: atomic},
			  c: {x-kubernetes-no-prune: true}, d: {x-kubernetes-int-or-string: true}, e: {x-kubernetes-embedded-resource: true},
			  f: {x-kubernetes-immutable: true, x-kubernetes-normalize: undefined}}}`,
			`{x-kubernetes-preserve-unknown-fields: true,
			  properties: {a: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]}, b: {x-kubernetes-map-type: atomic},
			  c: {x-kubernetes-no-prune: true}, d: {x-kubernetes-int-or-string: true}, e: {x-kubernetes-embedded-resource: true}, f: {}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := schema.Encode(build(t, tc.in).Schema())
			if diff := cmp.Diff(yamltest.Value(t, tc.want), any(got)); diff != "" {
				t.Errorf("skeleton (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBindingShowsTypesThatBind(t *testing.T) {
	got := schema.Encode(build(t, `{type: object, properties: {a: {anyOf: [{type: string}, {}]}, b: {anyOf: [{type: string},
		{type: string}], x-kubernetes-list-type: set},
	  c: {x-kubernetes-int-or-string: true, type: string}, m: {additionalProperties: {allOf: [{type: integer}]}}}}`).Binding())
	want := yamltest.Value(t, `{type: object, properties: {a: {}, b: {type: string, x-kubernetes-list-type: set},
		c: {x-kubernetes-int-or-string: true}, m: {additionalProperties: {type: integer}}}}`)
	if diff := cmp.Diff(want, any(got)); diff != "" {
		t.Errorf("binding types (-want +got):\n%s", diff)
	}
}

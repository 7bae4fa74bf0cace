package skeleton_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/skeleton"
)

func TestDefault(t *testing.T) {
	for name, tc := range map[string]struct{ schema, in, want string }{
		"absent and null": {
			schema: `{properties: {a: {default: 1}, b: {default: 1, nullable: true}, c: {default: 1}, d: {default: 1}, e: {}}}`,
			in:     `{a: null, b: null, c: 2}`,
			want:   `{a: 1, b: null, c: 2, d: 1}`,
		},
		"below a default, not below an absent object": {
			schema: `{properties: {a: {default: {}, properties: {b: {default: x}}}, c: {properties: {d: {default: x}}}}}`,
			in:     `{}`,
			want:   `{a: {b: x}}`,
		},
		"in maps and lists": {
			schema: `{properties: {m: {additionalProperties: {default: 5, properties: {a: {default: 1}}}},
				p: {patternProperties: {^x: {properties: {a: {default: 1}}}, 1$: {properties: {b: {default: 2}}}}},
			  l: {items: {default: {}, properties: {a: {default: 1}}}}, t: {items: [{}, {properties: {a: {default: 1}}}],
			  additionalItems: {properties: {b: {default: 2}}}}}}`,
			in:   `{m: {j: {}, k: null}, p: {x1: {}, x2: {}}, l: [{}, null, 3], t: [{}, {}, {}, {}]}`,
			want: `{m: {j: {a: 1}, k: 5}, p: {x1: {a: 1, b: 2}, x2: {a: 1}}, l: [{a: 1}, {a: 1}, 3], t: [{}, {a: 1}, {b: 2}, {b: 2}]}`,
		},
		"below no-prune": {
			schema: `{properties: {a: {x-kubernetes-no-prune: true, properties: {b: {default: 1}}}}}`,
			in:     `{a: {c: 1}}`,
			want:   `{a: {b: 1, c: 1}}`,
		},
		"of properties that logic extends": {
			schema: `{properties: {a: {default: 1}}, anyOf: [{properties: {a: {type: integer}, b: {}}}]}`,
			in:     `{}`,
			want:   `{a: 1}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := yamltest.Map(t, tc.in)
			build(t, tc.schema).Default(obj)
			if diff := cmp.Diff(yamltest.Map(t, tc.want), obj); diff != "" {
				t.Errorf("defaulted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultCopies(t *testing.T) {
	sk := build(t, `{properties: {a: {default: {l: [{b: 1}]}}}}`)
	first, second := map[string]any{}, map[string]any{}
	sk.Default(first)
	first["a"].(map[string]any)["l"].([]any)[0].(map[string]any)["b"] = "changed"
	sk.Default(second)
	if diff := cmp.Diff(yamltest.Map(t, `{a: {l: [{b: 1}]}}`), second); diff != "" {
		t.Errorf("the default of a second object (-want +got):\n%s", diff)
	}
}

func TestDefaultAgreesWithUpstream(t *testing.T) {
	for _, data := range inputs(2000) {
		c := &chooser{data}
		in := structural(c, 4)
		in["type"] = "object"
		delete(in, "items")
		delete(in, "x-kubernetes-embedded-resource")
		sk, upstream := skeleton.Build(schemaOf(t, in)), upstreamStructural(t, in)
		obj := anyObject(c, 5)
		dropNullsOfAnyMaps(upstream, obj) // upstream panics on them
		sk.Prune(obj)
		ours, theirs := clone(t, obj), clone(t, obj)
		sk.Default(ours)
		defaulting.Default(theirs, upstream)
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Fatalf("defaulted (-upstream +ours):\n%s\nobject %s\nschema %s", diff, toJSON(t, obj), toJSON(t, in))
		}
	}
}

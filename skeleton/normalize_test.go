package skeleton_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/skeleton"
)

func TestNormalize(t *testing.T) {
	const undefined = `x-kubernetes-normalize: undefined`
	for name, tc := range map[string]struct{ schema, in, want string }{
		"null and empty go": {
			schema: `{properties: {a: {` + undefined + `}, b: {` + undefined + `}, c: {` + undefined + `}, d: {` + undefined + `}, e: {}}}`,
			in:     `{a: null, b: [], c: {}, d: [null], e: {}}`,
			want:   `{d: [null], e: {}}`,
		},
		"empty string, zero and false stay": {
			schema: `{properties: {a: {` + undefined + `}, b: {` + undefined + `}, c: {` + undefined + `}}}`,
			in:     `{a: "", b: 0, c: false}`,
			want:   `{a: "", b: 0, c: false}`,
		},
		"innermost first": {
			schema: `{properties: {a: {` + undefined + `, properties: {b: {` + undefined + `, properties: {c: {` + undefined + `}}}}}}}`,
			in:     `{a: {b: {c: []}}}`,
			want:   `{}`,
		},
		"in maps and lists, which keep their items": {
			schema: `{properties: {m: {additionalProperties: {properties: {a: {` + undefined + `}}}},
				p: {patternProperties: {^x: {properties: {a: {` + undefined + `}}}, 1$: {properties: {b: {` + undefined + `}}}}},
			  l: {` + undefined + `, items: {properties: {a: {` + undefined + `}}}}}}`,
			in:   `{m: {k: {a: []}}, p: {x1: {a: [], b: []}}, l: [{a: []}, null]}`,
			want: `{m: {k: {}}, p: {x1: {}}, l: [{}, null]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := yamltest.Map(t, tc.in)
			build(t, tc.schema).Normalize(obj)
			if diff := cmp.Diff(yamltest.Map(t, tc.want), obj); diff != "" {
				t.Errorf("normalized (-want +got):\n%s", diff)
			}
		})
	}
	skeleton.Build(nil).Normalize(nil)
}

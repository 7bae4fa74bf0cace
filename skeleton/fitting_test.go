package skeleton_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
)

func TestFitting(t *testing.T) {
	for name, tc := range map[string]struct{ schema, in, want string }{
		"all of it fits": {
			schema: `{properties: {a: {type: string}, l: {type: array, items: {type: integer}}}}`,
			in:     `{a: x, l: [1, 2], unknown: {b: 1}, kind: X}`,
			want:   `{a: x, l: [1, 2], unknown: {b: 1}, kind: X}`,
		},
		"values of a wrong type are left out": {
			schema: `{properties: {a: {type: string}, b: {type: object, properties: {c: {type: integer}, d: {type: string}}}}}`,
			in:     `{a: 1, b: {c: x, d: x}}`,
			want:   `{b: {d: x}}`,
		},
		"lists": {
			schema: `{properties: {a: {type: array, items: {type: object, properties: {c: {type: integer}, d: {type: string}}}},
				b: {type: array, items: {type: string}}}}`,
			in:   `{a: [{c: x, d: x}, {c: 1}], b: [x, 1]}`,
			want: `{a: [{d: x}, {c: 1}]}`,
		},
		"maps and patterns": {
			schema: `{properties: {m: {additionalProperties: {type: string}}, p: {patternProperties: {^x: {type: object},
				x$: {type: object, properties: {a: {type: string}}}}}}}`,
			in:   `{m: {k: 1, l: x}, p: {x: {a: 1, b: 1}, x1: 1, z: 1}}`,
			want: `{m: {l: x}, p: {x: {b: 1}, z: 1}}`,
		},
		"nulls count as absent": {
			schema: `{properties: {a: {type: string}, l: {items: {type: string}}, nn: {items: {type: string, nullable: true}}}}`,
			in:     `{a: null, l: [null], nn: [null]}`,
			want:   `{a: null, nn: [null]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := yamltest.Map(t, tc.in)
			got := build(t, tc.schema).Fitting(in)
			if diff := cmp.Diff(yamltest.Map(t, tc.want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(yamltest.Map(t, tc.in), in); diff != "" {
				t.Errorf("the object was changed (-want +got)\n%s", diff)
			}
		})
	}
}

package skeleton_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
)

func TestNormalizeFields(t *testing.T) {
	const undefined = `x-kubernetes-normalize: undefined`
	const list = `{properties: {spec: {properties: {a: {}, l: {` + undefined + `}}}}}`
	for name, tc := range map[string]struct{ schema, obj, in, want string }{
		"a field that was removed": {
			schema: list, obj: `{spec: {a: 1}}`,
			in:   `{"f:spec": {"f:a": {}, "f:l": {}}}`,
			want: `{"f:spec": {"f:a": {}}}`,
		},
		"a field that is set": {
			schema: list, obj: `{spec: {l: [1]}}`,
			in: `{"f:spec": {"f:l": {}}, "f:metadata": {"f:x": {}}}`,
		},
		"a field that is missing for another reason": {
			schema: list, obj: `{spec: {}}`,
			in: `{"f:spec": {"f:a": {}}}`,
		},
		"a parent that stays is owned itself": {
			schema: list, obj: `{spec: {}}`,
			in:   `{"f:spec": {"f:l": {}}}`,
			want: `{"f:spec": {}}`,
		},
		"the value itself stays owned": {
			schema: list, obj: `{spec: {}}`,
			in:   `{"f:spec": {".": {}, "f:l": {}}}`,
			want: `{"f:spec": {}}`,
		},
		"a parent that was removed too": {
			schema: `{properties: {a: {` + undefined + `, properties: {b: {` + undefined + `}}}}}`, obj: `{}`,
			in:   `{"f:a": {"f:b": {}}}`,
			want: `{}`,
		},
		"items and values of maps": {
			schema: `{properties: {l: {items: {properties: {k: {}, a: {` + undefined + `}}}},
				m: {additionalProperties: {properties: {a: {` + undefined + `}}}}}}`,
			obj: `{l: [{k: 1}, {k: 2, a: [1]}], m: {x: {}, z: {a: [1]}}}`,
			in: `{"f:l": {'k:{"k":1}': {".": {}, "f:k": {}, "f:a": {}}, 'k:{"k":2}': {"f:a": {}}},
				"f:m": {"f:x": {"f:a": {}}, "f:z": {"f:a": {}}}}`,
			want: `{"f:l": {'k:{"k":1}': {".": {}, "f:k": {}}, 'k:{"k":2}': {"f:a": {}}},
				"f:m": {"f:x": {}, "f:z": {"f:a": {}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := yamltest.Map(t, tc.in), yamltest.Map(t, tc.in)
			if tc.want != "" {
				want = yamltest.Map(t, tc.want)
			}
			if dropped := build(t, tc.schema).NormalizeFields(got, yamltest.Map(t, tc.obj)); dropped != (tc.want != "") {
				t.Errorf("dropped: %v", dropped)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

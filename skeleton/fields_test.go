package skeleton_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
)

func TestPruneFields(t *testing.T) {
	for name, tc := range map[string]struct{ schema, in, want string }{
		"all of it is specified": {
			schema: `{properties: {spec: {properties: {a: {}}}}}`,
			in:     `{"f:spec": {".": {}, "f:a": {}}, "f:metadata": {"f:x": {}}}`,
		},
		"unspecified fields, and parents that have no other fields": {
			schema: `{properties: {spec: {properties: {a: {properties: {b: {}}}}}}}`,
			in:     `{"f:spec": {"f:a": {"f:b": {}, "f:c": {}}, "f:d": {"f:e": {}}}, "f:status": {"f:x": {}}}`,
			want:   `{"f:spec": {"f:a": {"f:b": {}}}}`,
		},
		"nothing is left": {
			schema: `{properties: {spec: {properties: {a: {}}}}}`,
			in:     `{"f:spec": {"f:b": {"f:c": {}}}}`,
			want:   `{}`,
		},
		"the value itself stays owned": {
			schema: `{properties: {spec: {properties: {a: {}}}}}`,
			in:     `{"f:spec": {".": {}, "f:b": {}}}`,
			want:   `{"f:spec": {}}`,
		},
		"items of lists": {
			schema: `{properties: {l: {items: {properties: {k: {}, a: {}}}}, s: {items: {type: string}}}}`,
			in:     `{"f:l": {'k:{"k":"x"}': {".": {}, "f:k": {}, "f:b": {}}, 'k:{"k":"yy"}': {"f:b": {}}}, "f:s": {'v:"x"': {}}}`,
			want:   `{"f:l": {'k:{"k":"x"}': {".": {}, "f:k": {}}}, "f:s": {'v:"x"': {}}}`,
		},
		"maps, patterns and unpruned values": {
			schema: `{properties: {m: {additionalProperties: {properties: {a: {}}}},
				p: {patternProperties: {^x: {properties: {a: {}}}, x$: {properties: {b: {}}}}},
			  free: {x-kubernetes-no-prune: true}, u: {x-kubernetes-preserve-unknown-fields: true,
			  properties: {a: {properties: {b: {}}}}}}}`,
			in: `{"f:m": {"f:k": {"f:a": {}, "f:b": {}}}, "f:p": {"f:x": {"f:a": {}, "f:b": {}, "f:c": {}}, "f:z": {}},
				"f:free": {"f:z": {}}, "f:u": {"f:z": {"f:z": {}}, "f:a": {"f:z": {}, "f:b": {}}}}`,
			want: `{"f:m": {"f:k": {"f:a": {}}}, "f:p": {"f:x": {"f:a": {}, "f:b": {}}}, "f:free": {"f:z": {}},
				"f:u": {"f:z": {"f:z": {}}, "f:a": {"f:b": {}}}}`,
		},
		"an unpruned root": {
			schema: `{x-kubernetes-no-prune: true}`,
			in:     `{"f:spec": {"f:b": {}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sk := build(t, tc.schema)
			got, want := yamltest.Map(t, tc.in), yamltest.Map(t, tc.in)
			if tc.want != "" {
				want = yamltest.Map(t, tc.want)
			}
			if dropped := sk.PruneFields(got); dropped != (tc.want != "") {
				t.Errorf("dropped: %v", dropped)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

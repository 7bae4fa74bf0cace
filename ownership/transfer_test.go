package ownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

func TestTransferOfUnknownKinds(t *testing.T) {
	loose := &ownership.Type{Applied: ownership.Untyped(), Managed: ownership.Untyped()}
	const live = `{metadata: {name: x}, spec: {a: 1, b: {c: 2}, list: [1, 2]}}`
	tests := map[string]struct {
		change               func(*ownership.Type, map[string]any, ownership.Path) (string, error)
		applied, field, want string
		wantErr              string
	}{
		"a field is given": {
			change: ownership.AddApplied, applied: `{"spec":{"a":1}}`, field: "spec.b.c", want: `{"spec":{"a":1,"b":{"c":2}}}`,
		},
		"at its live value": {change: ownership.AddApplied, applied: `{"spec":{"a":7}}`, field: "spec.a", want: `{"spec":{"a":1}}`},
		"what apply has": {
			change: ownership.AddApplied, applied: `{"spec":{"a":1}}`, field: "spec.a",
			wantErr: "field .spec.a: kubectl apply owns it already",
		},
		"what the object lacks": {
			change: ownership.AddApplied, applied: `{}`, field: "spec.z", wantErr: "field .spec.z: the object has no such field",
		},
		"a list as a whole": {change: ownership.AddApplied, applied: `{}`, field: "spec.list", want: `{"spec":{"list":[1,2]}}`},
		"a part of a list": {
			change: ownership.AddApplied, applied: `{}`, field: "spec.list[=1]",
			wantErr: "field .spec.list[=1]: .spec.list is one value for kubectl apply; transfer that",
		},
		"a field is released": {
			change: ownership.RemoveApplied, applied: `{"spec":{"a":1,"b":{"c":2}}}`, field: "spec.b.c",
			want: `{"spec":{"a":1,"b":{}}}`,
		},
		"what apply does not have": {
			change: ownership.RemoveApplied, applied: `{"spec":{}}`, field: "spec.a",
			wantErr: "field .spec.a: kubectl apply does not own it",
		},
		"a name stays": {
			change: ownership.RemoveApplied, applied: `{"metadata":{"name":"x"}}`, field: "metadata.name",
			wantErr: "kubectl apply does not own it",
		},
		"a malformed configuration": {
			change: ownership.RemoveApplied, applied: `{`, field: "spec.a", wantErr: "last-applied configuration: ",
		},
		"an object without apply": {change: ownership.AddApplied, field: "spec.a", wantErr: "it is not managed with kubectl apply"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			obj := yamltest.Map(t, live)
			if test.applied != "" {
				obj = ownership.WithLastApplied(obj, test.applied)
			}
			path, err := ownership.ParsePath(test.field)
			if err != nil {
				t.Fatal(err)
			}
			got, err := test.change(loose, obj, path)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("got %q, %v, want the error %q", got, err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want+"\n", got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

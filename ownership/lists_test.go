package ownership_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// merging returns a type with lists that client-side apply merges.
func merging(t testing.TB) *ownership.Type {
	t.Helper()
	typ := &ownership.Type{Managed: ownership.Untyped()}
	model := *yamltest.Known[spec.Schema](t, `{"type":"object","properties":{"ports":{"type":"array",
		"x-kubernetes-patch-strategy":"merge","x-kubernetes-patch-merge-key":"port","items":{"type":"object"}},
		"finalizers":{"type":"array","x-kubernetes-patch-strategy":"merge","items":{"type":"string"}}}}`)
	var err error
	if typ.Applied, err = ownership.NewView(map[string]*spec.Schema{"m": &model}, "m", ownership.ClientSide); err != nil {
		t.Fatal(err)
	}
	return typ
}

// A write without a command is an apply if it sets the last-applied configuration to
// values that it writes. Items of other clients in merged lists do not count.
func TestApplyWithoutCommand(t *testing.T) {
	typ := merging(t)
	live := object(t, `{"ports":[{"port":1,"node":1}],"finalizers":["a"],"args":["x"]}`,
		`{ports: [{port: 9}, {port: 1, node: 1}], finalizers: [z, a], args: [x]}`)
	for name, test := range map[string]struct {
		applied, updated string
		isApply          bool
	}{
		"what it writes": {
			`{"ports":[{"port":1,"node":2}],"finalizers":["a","b"],"args":["w"]}`,
			`{ports: [{port: 9}, {port: 1, node: 2, more: 1}], finalizers: [z, b, a], args: [w]}`, true,
		},
		"another value in an item": {
			`{"ports":[{"port":1,"node":3}]}`, `{ports: [{port: 9}, {port: 1, node: 2}], finalizers: [z, a], args: [x]}`, false,
		},
		"an item it does not write": {
			`{"ports":[{"port":1,"node":2},{"port":2}]}`, `{ports: [{port: 9}, {port: 1, node: 2}], finalizers: [z, a], args: [x]}`, false,
		},
		"a member it does not write": {
			`{"finalizers":["c"]}`, `{ports: [{port: 9}, {port: 1, node: 2}], finalizers: [z, a], args: [x]}`, false,
		},
		"more in a list that is one value": {
			`{"args":["w"]}`, `{ports: [{port: 9}, {port: 1, node: 2}], finalizers: [z, a], args: [w, z]}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := ownership.Judge(ownership.Write{
				Type: typ, Live: live, New: object(t, test.applied, test.updated),
				Writer: ownership.ParseWriter(ownership.Request{FieldManager: "deployer", User: "jane"}),
			}, nil)
			if got := verdict.Warnings(); (got == nil) != test.isApply {
				t.Errorf("said %q, want it to be an apply: %v", got, test.isApply)
			}
		})
	}
}

func TestSameKeys(t *testing.T) {
	typ := merging(t)
	applied := `{"ports":[{"port":53,"protocol":"TCP","node":1},{"port":53,"protocol":"UDP","node":2}],"finalizers":["a"]}`
	live := object(t, applied, `{ports: [{port: 53, protocol: TCP, node: 1}, {port: 53, protocol: UDP, node: 2}], finalizers: [a, b]}`)
	updated := object(t, applied, `{ports: [{port: 53, protocol: TCP, node: 1}, {port: 53, protocol: UDP, node: 3}], finalizers: [b, c]}`)
	verdict := ownership.Judge(ownership.Write{Type: typ, Live: live, New: updated, Writer: person}, nil)
	var got []string
	for _, f := range verdict.Findings {
		got = append(got, fmt.Sprintf("%s %s %s", f.Path, verdict.Show(f.Live), verdict.Show(f.New)))
	}
	want := []string{`.finalizers[="a"] "a" <none>`, `.ports[port=53].node 2 3`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if _, err := ownership.NewView(nil, "m", ownership.ClientSide); err == nil {
		t.Error("a view of no model")
	}
}

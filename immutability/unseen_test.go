package immutability_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/yamltest"
)

// A version that shows less than is stored writes sent. The markers of other versions
// decide what of the stored object is restored.
func TestUnseen(t *testing.T) {
	const (
		field  = `{properties: {spec: {properties: {a: {}, only: {x-kubernetes-immutable: true}, free: {}}}}}`
		object = `{properties: {spec: {properties: {net: {x-kubernetes-immutable: true, properties: {a: {}, b: {}}}}}}}`
		deep   = `{properties: {spec: {properties: {net: {properties: {a: {x-kubernetes-immutable: true}, b: {}}}}}}}`
		keys   = `{properties: {m: {additionalProperties: {}, x-kubernetes-addition-only: true}}}`
		values = `{properties: {m: {additionalProperties: {properties: {a: {}, b: {x-kubernetes-immutable: true}}}}}}`
		byKey  = `{properties: {l: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
			items: {properties: {name: {}, b: {x-kubernetes-immutable: true}}}}}}`
		atomic = `{properties: {l: {items: {properties: {a: {}, b: {x-kubernetes-immutable: true}}}}}}`
		set    = `{properties: {l: {x-kubernetes-list-type: set, x-kubernetes-addition-only: true, items: {}}}}`
		some   = `{properties: {m: {patternProperties: {"^a": {x-kubernetes-immutable: true}, "z$": {}}}}}`
	)
	for name, test := range map[string]struct{ schema, stored, shown, sent, want string }{
		"a marked field": {
			field, `{spec: {a: 1, only: 2}}`, `{spec: {a: 1}}`,
			`{spec: {a: 3}}`, `{spec: {a: 3, only: 2}}`,
		},
		"a field without a marker": {field, `{spec: {free: 1}}`, `{spec: {}}`, `{spec: {}}`, `{spec: {}}`},
		"its parent is removed":    {field, `{spec: {only: 1}}`, `{spec: {}}`, `{}`, `{}`},
		"its parent was not shown": {field, `{spec: {only: 1}}`, `{}`, `{}`, `{spec: {only: 1}}`},
		"its parent is new":        {field, `{spec: {only: 1}}`, `{}`, `{spec: {a: 2}}`, `{spec: {a: 2, only: 1}}`},
		"its parent has another type": {
			field, `{spec: {only: 1}}`, `{spec: {}}`,
			`{spec: [1]}`, `{spec: [1]}`,
		},
		"with its topmost unknown ancestor": {
			deep, `{spec: {net: {a: 1, b: 2}}}`, `{spec: {}}`,
			`{spec: {}}`, `{spec: {net: {a: 1, b: 2}}}`,
		},
		"part of an immutable object": {
			object, `{spec: {net: {a: 1, b: {c: 2}}}}`, `{spec: {net: {a: 1}}}`,
			`{spec: {net: {a: 3}}}`, `{spec: {net: {a: 3, b: {c: 2}}}}`,
		},
		"an empty value that the version normalizes": {
			object, `{spec: {net: {}}}`, `{spec: {}}`, `{spec: {}}`, `{spec: {net: {}}}`,
		},
		"the client sets such a value": {
			object, `{spec: {net: []}}`, `{spec: {}}`, `{spec: {net: [1]}}`, `{spec: {net: [1]}}`,
		},
		"a default of the version": {
			field, `{spec: {a: 1}}`, `{spec: {a: 1, only: 5}}`,
			`{spec: {a: 2, only: 5}}`, `{spec: {a: 2}}`,
		},
		"the client changes the default": {
			field, `{spec: {a: 1}}`, `{spec: {a: 1, only: 5}}`,
			`{spec: {a: 1, only: 6}}`, `{spec: {a: 1, only: 6}}`,
		},
		"keys of a map": {keys, `{m: {a: 1, b: 2}}`, `{m: {a: 1}}`, `{m: {a: 3}}`, `{m: {a: 3, b: 2}}`},
		"values of a map": {
			values, `{m: {x: {a: 1, b: 2}, y: {b: 3}}}`, `{m: {x: {a: 1}, y: {}}}`,
			`{m: {x: {a: 5}, z: {}}}`, `{m: {x: {a: 5, b: 2}, z: {}}}`,
		},
		"patterns": {
			some, `{m: {a1: 1, az: 2, z: 3}}`, `{m: {}}`,
			`{m: {}}`, `{m: {a1: 1, az: 2}}`,
		},
		"items by their keys": {
			byKey, `{l: [{name: a, b: 1}, {name: b, b: 2}]}`, `{l: [{name: a}, {name: b}]}`,
			`{l: [{name: c}, {name: b}]}`, `{l: [{name: c}, {name: b, b: 2}]}`,
		},
		"items whose keys are not shown": {
			byKey, `{l: [{name: a, b: 1}, {name: b, b: 2}]}`, `{l: [{}, {}]}`,
			`{l: [{c: 1}, {}]}`, `{l: [{c: 1}, {name: b, b: 2}]}`,
		},
		"items without an identity": {
			atomic, `{l: [{a: 1, b: 1}, {a: 2, b: 2}, {a: 3, b: 3}]}`, `{l: [{a: 1}, {a: 2}, {a: 3}]}`,
			`{l: [{a: 1}, {a: 3}]}`, `{l: [{a: 1, b: 1}, {a: 3}]}`,
		},
		"items of a set": {set, `{l: [{a: 1, b: 1}]}`, `{l: [{a: 1}]}`, `{l: [{a: 1}]}`, `{l: [{a: 1, b: 1}]}`},
		"metadata":       {field, `{metadata: {a: 1}, spec: {}}`, `{spec: {}}`, `{}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			policies := []*immutability.Policy{nil, compile(t, test.schema)}
			stored, shown, sent := yamltest.Map(t, test.stored), yamltest.Map(t, test.shown), yamltest.Map(t, test.sent)
			unseen := immutability.FindUnseen(policies, stored, shown)
			before := runtime.DeepCopyJSON(sent)
			if diff := cmp.Diff(yamltest.Map(t, test.want), unseen.Restore(sent)); diff != "" {
				t.Errorf("restored (-want +got):\n%s", diff)
			}
			if !cmp.Equal(before, sent) {
				t.Error("Restore changed its argument")
			}
			// A write that changes nothing stores what was stored, as far as it is marked.
			if found := policies[1].Check(stored, unseen.Restore(shown)); found != nil {
				t.Errorf("a write that changes nothing is refused: %v", lines(found))
			}
		})
	}
}

// Two policies protect different fields of one object.
func TestUnseenOfTwoPolicies(t *testing.T) {
	policies := []*immutability.Policy{
		compile(t, `{properties: {l: {items: {properties: {a: {x-kubernetes-immutable: true}, b: {}}}}}}`),
		compile(t, `{properties: {l: {items: {properties: {a: {}, b: {x-kubernetes-immutable: true}}}}}}`),
	}
	stored, shown := yamltest.Map(t, `{l: [{a: 1, b: 2, c: 3}]}`), yamltest.Map(t, `{l: [{}]}`)
	got := immutability.FindUnseen(policies, stored, shown).Restore(shown)
	if diff := cmp.Diff(yamltest.Map(t, `{l: [{a: 1, b: 2}]}`), got); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if unseen := immutability.FindUnseen(nil, stored, shown); unseen != nil {
		t.Errorf("without policies: %v", unseen)
	}
}

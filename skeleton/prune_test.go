package skeleton_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/skeleton"
)

func TestPrune(t *testing.T) {
	for name, tc := range map[string]struct {
		schema, in, want string
		dropped          []string
	}{
		"every depth": {
			schema:  `{properties: {a: {properties: {b: {items: {properties: {c: {}}}}}}}}`,
			in:      `{a: {b: [{c: 1, d: 2}, 5, [{c: 1}]], x: 1}, yy: {z: 1}}`,
			want:    `{a: {b: [{c: 1}, 5, [{}]]}}`,
			dropped: []string{"a.b[0].d", "a.b[2][0].c", "a.x", "yy"},
		},
		"a node without properties": {
			schema:  `{properties: {a: {}, b: {type: object}, c: {type: string}}}`,
			in:      `{a: {x: 1}, b: [{x: 1}, [{x: 1}], 1, null], c: 5}`,
			want:    `{a: {}, b: [{}, [{}], 1, null], c: 5}`,
			dropped: []string{"a.x", "b[0].x", "b[1][0].x"},
		},
		"maps keep their keys": {
			schema: `{properties: {a: {additionalProperties: {properties: {b: {}}}}, t: {additionalProperties: true},
				f: {additionalProperties: false},
			  p: {patternProperties: {^x: {properties: {b: {}}}}}, q: {patternProperties: {^x: {}},
			  additionalProperties: {properties: {r: {}}}}}}`,
			in:      `{a: {k: {b: 1, c: 1}}, t: {k: {b: 1}}, f: {k: 1}, p: {x1: {b: 1, c: 1}, yy: 1}, q: {x1: {r: 1}, yy: {r: 1}}}`,
			want:    `{a: {k: {b: 1}}, t: {k: {}}, f: {}, p: {x1: {b: 1}}, q: {x1: {}, yy: {r: 1}}}`,
			dropped: []string{"a.k.c", "f.k", "p.x1.c", "p.yy", "q.x1.r", "t.k.b"},
		},
		"a key that matches several patterns has all their fields": {
			schema: `{properties: {p: {patternProperties: {
			  ^x: {nullable: true, properties: {a: {}, l: {items: {properties: {a: {}}}}, p: {x-kubernetes-no-prune: true}}},
			  1$: {properties: {b: {}, l: {items: {properties: {b: {}}}}, p: {}}},
			  ^y1: {x-kubernetes-preserve-unknown-fields: true}, ^z1: {additionalProperties: {properties: {c: {}}}}}}}}`,
			in: `{p: {x1: {a: null, b: 1, c: 1, nn: null, l: [{a: 1, b: 1, c: 1}, 1], p: {q: 1}}, x2: {a: 1, b: 1}, x31: null, yy: 1,
			  y1: {b: {c: 1}, c: {d: 1}}, z1: {b: {c: 1, d: 1}, e: {c: 1, d: 1}, l: null}, 11: null}}`,
			want: `{p: {x1: {b: 1, l: [{a: 1, b: 1}, 1], p: {q: 1}}, x2: {a: 1}, x31: null,
			  y1: {b: {c: 1}, c: {d: 1}}, z1: {b: {c: 1}, e: {c: 1}}}}`,
			dropped: []string{"p.x1.c", "p.x1.l[0].c", "p.x1.nn", "p.x2.b", "p.yy", "p.z1.b.d", "p.z1.e.d"},
		},
		"items by position": {
			schema: `{properties: {a: {items: [{properties: {x: {}}}, {properties: {yy: {}}}],
				additionalItems: {properties: {z: {}}}}, b: {items: [{}], additionalItems: true}}}`,
			in:      `{a: [{x: 1, yy: 1, z: 1}, {x: 1, yy: 1, z: 1}, {x: 1, yy: 1, z: 1}, {z: 1}], b: [{x: 1}, {x: 1}]}`,
			want:    `{a: [{x: 1}, {yy: 1}, {z: 1}, {z: 1}], b: [{}, {}]}`,
			dropped: []string{"a[0].yy", "a[0].z", "a[1].x", "a[1].z", "a[2].x", "a[2].yy", "b[0].x", "b[1].x"},
		},
		"no-prune": {
			schema: `{properties: {a: {x-kubernetes-no-prune: true, properties: {b: {properties: {c: {}}}}},
				d: {items: {x-kubernetes-no-prune: true}}}}`,
			in:      `{a: {b: {x: 1, c: null}, yy: [{z: 1}]}, d: [{e: 1}], f: 1}`,
			want:    `{a: {b: {x: 1, c: null}, yy: [{z: 1}]}, d: [{e: 1}]}`,
			dropped: []string{"f"},
		},
		"no-prune at the root leaves metadata to Kubernetes": {
			schema:  `{x-kubernetes-no-prune: true, properties: {a: {}}}`,
			in:      `{a: {b: 1}, c: null, metadata: {name: x, foo: 1, creationTimestamp: null}}`,
			want:    `{a: {b: 1}, c: null, metadata: {name: x}}`,
			dropped: []string{"metadata.foo"},
		},
		"preserve-unknown-fields": {
			schema: `{properties: {a: {x-kubernetes-preserve-unknown-fields: true, properties: {b: {properties: {c: {}}},
				nn: {}}, additionalProperties: false}}}`,
			in:      `{a: {b: {c: 1, d: 1}, e: {f: {g: null}}, nn: null, m: null}, h: 1}`,
			want:    `{a: {b: {c: 1}, e: {f: {g: null}}, m: null}}`,
			dropped: []string{"a.b.d", "h"},
		},
		"preserve-unknown-fields passes through lists to their items": {
			schema: `{properties: {a: {x-kubernetes-preserve-unknown-fields: true,
				items: {items: {properties: {b: {properties: {c: {}}}}}}}, l: {x-kubernetes-preserve-unknown-fields: true},
			  t: {x-kubernetes-preserve-unknown-fields: true, items: [{properties: {b: {}}}]}}}`,
			in:      `{a: [[{b: {c: 1, d: 1}, e: {f: 1}}]], l: [[{x: 1}], {x: 1}], t: [{b: {c: 1}, d: {c: 1}}, {e: 1}]}`,
			want:    `{a: [[{b: {c: 1}, e: {f: 1}}]], l: [[{x: 1}], {x: 1}], t: [{b: {}, d: {c: 1}}, {e: 1}]}`,
			dropped: []string{"a[0][0].b.d", "t[0].b.c"},
		},
		"items are not preserved for others": {
			schema:  `{properties: {a: {items: {x-kubernetes-preserve-unknown-fields: true}}, b: {items: {}}}}`,
			in:      `{a: [{x: 1}, [{x: 1}]], b: [{x: 1}]}`,
			want:    `{a: [{x: 1}, [{x: 1}]], b: [{}]}`,
			dropped: []string{"b[0].x"},
		},
		"embedded resources": {
			schema: `{properties: {a: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {}}},
			  b: {x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`,
			in: `{a: {apiVersion: v1, kind: X, metadata: {name: nn, x: 1, labels: {a: b}}, spec: {yy: 1}, status: 1},
			  b: {kind: Y, metadata: {x: 1}, status: {z: 1}}}`,
			want: `{a: {apiVersion: v1, kind: X, metadata: {name: nn, labels: {a: b}}, spec: {}},
			  b: {kind: Y, metadata: {}, status: {z: 1}}}`,
			dropped: []string{"a.metadata.x", "a.spec.yy", "a.status", "b.metadata.x"},
		},
		"the root": {
			schema: `{type: object, properties: {metadata: {properties: {foo: {}}}}}`,
			in: `{apiVersion: v1, kind: X, spec: 1, metadata: {name: a, foo: 1, annotations: {x: yy}, ownerReferences: [{uid: u, foo: 1}],
			  managedFields: [{manager: m, foo: 1, fieldsV1: {"f:spec": {"f:x": {}}}}]}}`,
			want: `{apiVersion: v1, kind: X, metadata: {name: a, annotations: {x: yy}, ownerReferences: [{uid: u}],
			  managedFields: [{manager: m, fieldsV1: {"f:spec": {"f:x": {}}}}]}}`,
			dropped: []string{"metadata.foo", "metadata.managedFields[0].foo", "metadata.ownerReferences[0].foo", "spec"},
		},
		"nulls": {
			schema: `{properties: {a: {}, b: {nullable: true}, c: {default: 1}, m: {additionalProperties: {}},
				nn: {additionalProperties: {nullable: true}},
			  l: {items: {properties: {a: {}}}}, p: {patternProperties: {x: {}}}}}`,
			in:      `{a: null, b: null, c: null, d: null, m: {k: null}, nn: {k: null}, l: [null, {a: null}], p: {x: null}}`,
			want:    `{b: null, c: null, m: {}, nn: {k: null}, l: [null, {}], p: {}}`,
			dropped: []string{"d"},
		},
		"logic": {
			schema:  `{anyOf: [{properties: {a: {properties: {x: {}}}}}, {not: {properties: {a: {properties: {yy: {}}}}}}]}`,
			in:      `{a: {x: 1, yy: 1, z: 1}, b: 1}`,
			want:    `{a: {x: 1, yy: 1}}`,
			dropped: []string{"a.z", "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sk := build(t, tc.schema)
			want := yamltest.Value(t, tc.want)

			silent := yamltest.Map(t, tc.in)
			if lossy := sk.Prune(silent); lossy != (len(tc.dropped) > 0) {
				t.Errorf("dropped: %v", lossy)
			}
			if diff := cmp.Diff(want, any(silent)); diff != "" {
				t.Errorf("pruned (-want +got):\n%s", diff)
			}
			told := yamltest.Map(t, tc.in)
			dropped := sk.PrunePaths(told)
			if diff := cmp.Diff(want, any(told)); diff != "" {
				t.Errorf("pruned with paths (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.dropped, dropped); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
		})
	}
}

// Where a schema that Rules refuses is ambiguous, Prune keeps the data.
func TestPruneByRefusedSchemaKeepsData(t *testing.T) {
	sk := build(t, `{properties: {a: {patternProperties: {"(": {properties: {b: {}}}}}, l: {items: {}, anyOf: [{items: [{}]}]}}}`)
	obj := yamltest.Map(t, `{a: {k: {b: 1}}, l: [{x: 1}]}`)
	if dropped := sk.PrunePaths(obj); len(dropped) > 0 {
		t.Errorf("dropped %v", dropped)
	}
}

func TestPruneOfNilObject(t *testing.T) {
	sk := skeleton.Build(nil)
	sk.Prune(nil)
	obj := map[string]any{"a": 1, "kind": "X"}
	sk.Prune(obj)
	if diff := cmp.Diff(map[string]any{"kind": "X"}, obj); diff != "" {
		t.Errorf("pruned (-want +got):\n%s", diff)
	}
}

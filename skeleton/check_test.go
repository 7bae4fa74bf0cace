package skeleton_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/skeleton"
)

func messages(wrong []skeleton.WrongType) []string {
	var out []string
	for _, w := range wrong {
		out = append(out, w.Error())
	}
	return out
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		schema, obj string
		want        []string
	}{
		"every basic type": {
			schema: `{properties: {o: {type: object}, a: {type: array}, s: {type: string}, b: {type: boolean},
				i: {type: integer}, nn: {type: number}}}`,
			obj: `{o: [], a: {}, s: 1, b: "true", i: "1", nn: false}`,
			want: []string{
				"a: must be of type array, not object", "b: must be of type boolean, not string", "i: must be of type integer, not string",
				"nn: must be of type number, not boolean", "o: must be of type object, not array", "s: must be of type string, not integer",
			},
		},
		"numbers": {
			schema: `{properties: {i: {items: {type: integer}}, nn: {items: {type: number}}}}`,
			obj:    `{i: [1, 1.0, 1.5, 1e300, -2], nn: [1, 1.5]}`,
			want:   []string{"i[2]: must be of type integer, not number"},
		},
		"int-or-string is judged later": {
			schema: `{properties: {p: {x-kubernetes-int-or-string: true, type: string, anyOf: [{type: integer}]},
				q: {x-kubernetes-int-or-string: true, type: string}}}`,
			obj: `{p: {}, q: []}`,
		},
		"through allOf": {
			schema: `{properties: {a: {allOf: [{allOf: [{type: string}]}]}}, allOf: [{properties: {b: {type: string}}}]}`,
			obj:    `{a: 1, b: 1}`,
			want:   []string{"a: must be of type string, not integer", "b: must be of type string, not integer"},
		},
		"by every branch": {
			schema: `{anyOf: [{properties: {a: {type: string}, b: {type: string}}}, {properties: {a: {oneOf: [{type: string},
				{allOf: [{type: string}]}]}}}]}`,
			obj:  `{a: 1, b: 1}`,
			want: []string{"a: must be of type string, not integer"},
		},
		"by some branches only": {
			schema: `{properties: {a: {anyOf: [{type: string}, {}]}, b: {anyOf: [{oneOf: [{type: string}, {minimum: 1}]},
				{type: string}]}, c: {not: {type: string}}}}`,
			obj: `{a: 1, b: 1, c: 1}`,
		},
		"below choices": {
			schema: `{anyOf: [{properties: {a: {items: {type: string}}}}, {properties: {a: {items: {type: string}}}}],
			  oneOf: [{additionalProperties: {}}, {}]}`,
			obj:  `{a: [1]}`,
			want: []string{"a[0]: must be of type string, not integer"},
		},
		"maps and overlapping patterns": {
			schema: `{properties: {m: {additionalProperties: {type: string}}, p: {patternProperties: {^x: {type: string},
				1$: {type: integer}, x: {type: string}}}}}`,
			obj: `{m: {k: 1}, p: {x1: "a", x2: 5, y1: 1, z: 1}}`,
			want: []string{
				"m.k: must be of type string, not integer",
				"p.x1: must be of type integer, not string",
				"p.x2: must be of type string, not integer",
			},
		},
		"additionalItems without a list of items beside them do not bind": {
			schema: `{properties: {a: {additionalItems: {type: string}, allOf: [{items: [{}]}]}, b: {items: [{type: string}],
				additionalItems: {type: string}}}}`,
			obj:  `{a: [1, 2], b: [1, 2]}`,
			want: []string{"b[0]: must be of type string, not integer", "b[1]: must be of type string, not integer"},
		},
		"nulls under keys are absent, in lists they are wrong": {
			schema: `{properties: {a: {type: string}, m: {additionalProperties: {type: string}}, l: {items: {type: string}},
				nn: {items: {type: string, nullable: true}},
			  u: {items: {}}, f: {items: {allOf: [{type: string}]}}}}`,
			obj:  `{a: null, m: {k: null}, l: [null], nn: [null], u: [null], f: [null]}`,
			want: []string{"l[0]: must be of type string, not null"},
		},
		"below no-prune and preserve-unknown-fields types hold": {
			schema: `{properties: {a: {x-kubernetes-no-prune: true, properties: {b: {type: string}}},
				c: {x-kubernetes-preserve-unknown-fields: true, properties: {b: {type: string}}}}}`,
			obj:  `{a: {b: 1, x: 1}, c: {b: 1, x: 1}}`,
			want: []string{"a.b: must be of type string, not integer", "c.b: must be of type string, not integer"},
		},
		"unspecified values are not looked at": {
			schema: `{properties: {a: {type: string}}}`, obj: `{b: {c: [1]}}`,
		},
		"what every object has": {
			schema: `{properties: {e: {x-kubernetes-embedded-resource: true}}}`,
			obj:    `{apiVersion: 1, kind: {}, metadata: {labels: {a: 1}, generation: x, finalizers: a}, e: {metadata: []}}`,
			want: []string{
				"apiVersion: must be of type string, not integer", "e.metadata: must be of type object, not array",
				"kind: must be of type string, not object",
				"metadata.finalizers: must be of type array, not string",
				"metadata.generation: must be of type integer, not string",
				"metadata.labels.a: must be of type string, not integer",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := yamltest.Map(t, tc.obj)
			got := messages(build(t, tc.schema).Check(obj))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("wrong types (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(yamltest.Map(t, tc.obj), obj); diff != "" {
				t.Errorf("the check changed the object:\n%s", diff)
			}
		})
	}
}

func TestCheckUpdateReportsWhatChanged(t *testing.T) {
	sk := build(t, `{properties: {a: {type: string}, b: {properties: {c: {type: string}}}, l: {items: {type: string}}}}`)
	for name, tc := range map[string]struct {
		oldObj, newObj string
		want           []string
	}{
		"nothing":             {`{a: 1, b: {c: [1]}, l: [1]}`, `{a: 1, b: {c: [1]}, l: [1], metadata: {finalizers: []}}`, nil},
		"another wrong value": {`{a: 1}`, `{a: 2}`, []string{"a: must be of type string, not integer"}},
		"a new wrong value":   {`{}`, `{b: {c: 1}}`, []string{"b.c: must be of type string, not integer"}},
		"null before":         {`{a: null, l: [null]}`, `{a: 1, l: [null]}`, []string{"a: must be of type string, not integer"}},
		"lists by index": {`{l: [1, 2]}`, `{l: [1, 3,
			4]}`, []string{"l[1]: must be of type string, not integer", "l[2]: must be of type string, not integer"}},
		"no longer a list": {`{l: {}}`, `{l: [1]}`, []string{"l[0]: must be of type string, not integer"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := messages(sk.CheckUpdate(yamltest.Map(t, tc.oldObj), yamltest.Map(t, tc.newObj)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("wrong types (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckNamesForeignGoTypes(t *testing.T) {
	got := messages(build(t, `{properties: {a: {type: integer}}}`).Check(map[string]any{"a": uint8(1)}))
	if diff := cmp.Diff([]string{"a: must be of type integer, not uint8"}, got); diff != "" {
		t.Errorf("wrong types (-want +got):\n%s", diff)
	}
}

func TestNulls(t *testing.T) {
	t.Parallel()
	sk := build(t, `{properties: {
		a: {type: string}, n: {type: string, nullable: true}, d: {type: string, default: x}, u: {},
		free: {type: object, x-kubernetes-no-prune: true, properties: {a: {type: string}}},
		m: {type: object, additionalProperties: {type: integer}}, l: {type: array, items: {type: object, properties: {a: {type: boolean}}}}}}`)
	obj := map[string]any{
		"a": nil, "n": nil, "d": nil, "u": nil, "unknown": nil, "free": map[string]any{"a": nil},
		"m": map[string]any{"k": nil}, "l": []any{map[string]any{"a": nil}, nil},
	}
	var got []string
	for _, null := range sk.Nulls(obj) {
		got = append(got, null.Path+" "+null.Want)
	}
	if diff := cmp.Diff([]string{"a string", "l[0].a boolean", "m.k integer"}, got); diff != "" {
		t.Errorf("nulls (-want +got):\n%s", diff)
	}
}

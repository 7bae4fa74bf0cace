package immutability_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/yamltest"
)

type update struct {
	schema, old, new string
	want             []string
}

func (u update) run(t *testing.T) {
	t.Helper()
	policy := compile(t, u.schema)
	oldObj, newObj := yamltest.Map(t, u.old), yamltest.Map(t, u.new)
	oldCopy, newCopy := runtime.DeepCopyJSON(oldObj), runtime.DeepCopyJSON(newObj)

	if diff := cmp.Diff(u.want, lines(policy.Check(oldObj, newObj))); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	if !cmp.Equal(oldObj, oldCopy) || !cmp.Equal(newObj, newCopy) {
		t.Error("the check changed an object")
	}
	if found := policy.Check(oldObj, oldCopy); found != nil {
		t.Errorf("an update that changes nothing is refused: %v", lines(found))
	}
}

func TestCheckImmutable(t *testing.T) {
	const scalar = `{properties: {x: {type: string, x-kubernetes-immutable: true}}}`
	const object = `{properties: {foo: {type: object, x-kubernetes-immutable: true}}}`
	const parts = `{properties: {foo: {type: object, properties: {
		x: {type: string, x-kubernetes-immutable: true},
		w: {type: string, x-kubernetes-immutable: true}, z: {type: string}}}}}`
	for name, test := range map[string]update{
		"unchanged":   {scalar, `{x: a}`, `{x: a}`, nil},
		"changed":     {scalar, `{x: a}`, `{x: b}`, []string{`x: field is immutable: changed from "a" to "b"`}},
		"set":         {scalar, `{}`, `{x: a}`, []string{`x: field is immutable: added "a"`}},
		"removed":     {scalar, `{x: a}`, `{}`, []string{`x: field is immutable: removed "a"`}},
		"never set":   {scalar, `{w: 1}`, `{w: 2}`, nil},
		"set to null": {scalar, `{x: a}`, `{x: null}`, []string{`x: field is immutable: changed from "a" to null`}},
		"other type":  {scalar, `{x: "1"}`, `{x: 1}`, []string{`x: field is immutable: changed from "1" to 1`}},

		"object changed inside": {
			object, `{foo: {a: {b: 1, c: 1}}}`, `{foo: {a: {b: 2, c: 1}}}`,
			[]string{`foo.a.b: field is immutable: changed from 1 to 2`},
		},
		"object set":          {object, `{}`, `{foo: {}}`, []string{`foo: field is immutable: added {}`}},
		"object removed":      {object, `{foo: {}}`, `{}`, []string{`foo: field is immutable: removed {}`}},
		"object is not null":  {object, `{foo: {}}`, `{foo: null}`, []string{`foo: field is immutable: changed from {} to null`}},
		"null is not absent":  {object, `{foo: null}`, `{}`, []string{`foo: field is immutable: removed null`}},
		"empty list, no null": {object, `{foo: {a: []}}`, `{foo: {a: null}}`, []string{`foo.a: field is immutable: changed from [] to null`}},
		"empty string is set": {object, `{foo: {a: ""}}`, `{foo: {}}`, []string{`foo.a: field is immutable: removed ""`}},
		"order of keys":       {object, `{foo: {a: 1, b: 2}}`, `{foo: {b: 2, a: 1}}`, nil},
		"every difference": {
			object, `{foo: {a: 1, c: 1}}`, `{foo: {a: 2, b: 3}}`,
			[]string{`foo.a: field is immutable: changed from 1 to 2`, `foo.b: field is immutable: added 3`, `foo.c: field is immutable: removed 1`},
		},
		"list gets longer":  {object, `{foo: {a: [1]}}`, `{foo: {a: [1, 2]}}`, []string{`foo.a[1]: field is immutable: added 2`}},
		"list gets shorter": {object, `{foo: {a: [1, 2]}}`, `{foo: {a: [1]}}`, []string{`foo.a[1]: field is immutable: removed 2`}},
		"list item changes": {
			object, `{foo: {a: [{b: 1}, 2]}}`, `{foo: {a: [{b: 3}, 2]}}`, []string{`foo.a[0].b: field is immutable: changed from 1 to 3`},
		},
		"list in other order": {
			object, `{foo: {a: [1, 2]}}`, `{foo: {a: [2, 1]}}`, []string{`foo.a: field is immutable: reordered from [1,2] to [2,1]`},
		},
		"key that is no name": {object, `{foo: {"a.b/c": 1}}`, `{foo: {}}`, []string{`foo["a.b/c"]: field is immutable: removed 1`}},
		"list becomes object": {object, `{foo: {a: []}}`, `{foo: {a: {}}}`, []string{`foo.a: field is immutable: changed from [] to {}`}},
		"redundant marker": {
			`{properties: {foo: {x-kubernetes-immutable: true, properties: {bar: {x-kubernetes-immutable: true}}}}}`,
			`{foo: {bar: 1}}`, `{foo: {bar: 2}}`,
			[]string{`foo.bar: field is immutable: changed from 1 to 2`},
		},
		"keys marker redundant": {
			`{properties: {foo: {x-kubernetes-immutable: true, properties: {m: {additionalProperties: true,
				x-kubernetes-addition-only: true}}}}}`,
			`{foo: {m: {a: 1}}}`, `{foo: {m: {a: 1, b: 1}}}`,
			[]string{`foo.m.b: field is immutable: added 1`},
		},

		"parts: one changes": {
			parts, `{foo: {x: a, z: c}}`, `{foo: {x: b, z: d}}`, []string{`foo.x: field is immutable: changed from "a" to "b"`},
		},
		"parts: parent removed": {parts, `{foo: {x: a}}`, `{}`, nil},
		"parts: parent set":     {parts, `{}`, `{foo: {x: a}}`, nil},
		"parts: parent is null": {parts, `{foo: {x: a}}`, `{foo: null}`, nil},
		"parts: other type":     {parts, `{foo: {x: a}}`, `{foo: [1]}`, nil},
		"parts: removed":        {parts, `{foo: {x: a}}`, `{foo: {}}`, []string{`foo.x: field is immutable: removed "a"`}},
		"parts: set":            {parts, `{foo: {x: a}}`, `{foo: {x: a, w: b}}`, []string{`foo.w: field is immutable: added "b"`}},

		"type cannot change": {
			scalar, `{apiVersion: v1, kind: A}`, `{apiVersion: v2, kind: B}`,
			[]string{`apiVersion: field is immutable: changed from "v1" to "v2"`, `kind: field is immutable: changed from "A" to "B"`},
		},
		"no marker in the metadata": {
			`{properties: {metadata: {x-kubernetes-immutable: true}, x: {x-kubernetes-immutable: true}}}`,
			`{metadata: {name: a}}`, `{metadata: {name: b}}`, nil,
		},
		"no pattern of the root reaches the metadata": {
			`{patternProperties: {"": {x-kubernetes-immutable: true}}}`,
			`{metadata: {name: a}, a: 1}`, `{metadata: {name: b}, a: 2}`,
			[]string{`a: field is immutable: changed from 1 to 2`},
		},
		"no marker at the root": {
			`{x-kubernetes-immutable: true, properties: {x: {x-kubernetes-immutable: true}}}`,
			`{x: 1, a: 1}`, `{x: 2, a: 2}`,
			[]string{`x: field is immutable: changed from 1 to 2`},
		},
		"marker about keys without keys, marker below": {
			`{properties: {foo: {x-kubernetes-immutable-keys: true, properties: {a: {x-kubernetes-immutable: true}}}}}`,
			`{foo: {a: 1, b: 1}}`, `{foo: {a: 2}}`,
			[]string{`foo.a: field is immutable: changed from 1 to 2`},
		},
		"no marker in logic": {
			`{properties: {x: {allOf: [{x-kubernetes-immutable: true}]}, w: {x-kubernetes-immutable: true}}}`, `{x: 1}`, `{x: 2}`,
			nil,
		},
		"no keys, no marker": {
			`{properties: {x: {type: string, x-kubernetes-immutable-keys: true}, w: {x-kubernetes-immutable: true}}}`, `{x: a}`,
			`{x: b}`, nil,
		},
	} {
		t.Run(name, test.run)
	}
}

func TestCheckNumbers(t *testing.T) {
	policy := compile(t, `{properties: {v: {x-kubernetes-immutable: true},
		s: {x-kubernetes-immutable: true, x-kubernetes-list-type: set}}}`)
	for name, test := range map[string]struct {
		old, new any
		equal    bool
	}{
		"integer and float":            {int64(1), 1.0, true},
		"exponent":                     {1e0, int64(1), true},
		"negative zero":                {int64(0), math.Copysign(0, -1), true},
		"two zeros":                    {0.0, math.Copysign(0, -1), true},
		"not a string":                 {int64(1), "1", false},
		"zero is not false":            {int64(0), false, false},
		"one is not true":              {1.0, true, false},
		"64 bits":                      {int64(9007199254740993), int64(9007199254740992), false},
		"64 bits and float":            {int64(9007199254740993), 9007199254740992.0, false},
		"the float that it is":         {int64(9007199254740992), 9007199254740992.0, true},
		"largest integer, next float":  {int64(math.MaxInt64), float64(1 << 63), false},
		"smallest integer":             {int64(math.MinInt64), -float64(1 << 63), true},
		"fraction":                     {1.5, 1.25, false},
		"beyond 64 bits":               {1e300, 1e300, true},
		"beyond 64 bits, other":        {1e300, 1e301, false},
		"number as text":               {json.Number("1.0"), int64(1), true},
		"number as text, 64 bits":      {json.Number("9007199254740993"), int64(9007199254740992), false},
		"Go int":                       {1, int64(1), true},
		"Go uint64":                    {uint64(1 << 63), float64(1 << 63), true},
		"Go uint64 and the next float": {uint64(math.MaxUint64), float64(math.MaxUint64), false},
		"no JSON number, equal itself": {math.NaN(), math.NaN(), true},
	} {
		t.Run(name, func(t *testing.T) {
			found := policy.Check(map[string]any{"v": test.old}, map[string]any{"v": test.new})
			if (len(found) == 0) != test.equal {
				t.Errorf("want equal %v, got %v", test.equal, lines(found))
			}
			// Items of a set are found by their hash, which must agree with equality.
			found = policy.Check(
				map[string]any{"s": []any{"a", test.old}},
				map[string]any{"s": []any{test.new, "a"}})
			if (len(found) == 0) != test.equal {
				t.Errorf("in a set: want equal %v, got %v", test.equal, lines(found))
			}
		})
	}
}

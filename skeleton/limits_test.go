package skeleton_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// everything does to an object whatever the package can do to one.
func everything(sk *skeleton.Skeleton, obj map[string]any) {
	sk.Check(obj)
	sk.CheckUpdate(obj, obj)
	sk.PrunePaths(obj)
	sk.Default(obj)
	sk.Normalize(obj)
	sk.Prune(obj)
	sk.Schema()
}

func nestedObject(depth int, wrap func(any) any) map[string]any {
	var v any = "x"
	for range depth {
		v = wrap(v)
	}
	return map[string]any{"a": v}
}

func inList(v any) any { return []any{v} }
func inA(v any) any    { return map[string]any{"a": v} }

func TestDeepAndLargeObjects(t *testing.T) {
	deepSchema := func(depth int, key string) string {
		return strings.Repeat(`{"`+key+`":`, depth) + `{}` + strings.Repeat(`}`, depth)
	}
	wide := map[string]any{}
	for i := range 20_000 {
		wide[fmt.Sprintf("key-%d", i)] = strings.Repeat("x", 50)
	}
	for name, tc := range map[string]struct {
		schema string
		obj    map[string]any
	}{
		"deep lists, nothing said":    {`{"properties":{"a":{}}}`, nestedObject(10_000, inList)},
		"deep objects, nothing said":  {`{"properties":{"a":{}}}`, nestedObject(10_000, inA)},
		"deep lists, preserved":       {`{"properties":{"a":{"x-kubernetes-preserve-unknown-fields":true,"items":{"items":{}}}}}`, nestedObject(10_000, inList)},
		"deep lists, overlapping":     {`{"patternProperties":{"a":{"items":{}},"^a":{}}}`, nestedObject(10_000, inList)},
		"very deep lists":             {`{"properties":{"a":{}}}`, nestedObject(500_000, inList)},
		"deep schema of lists":        {deepSchema(499, "items"), nestedObject(10_000, inList)},
		"deep schema of logic":        {deepSchema(499, "not"), nestedObject(10_000, inA)},
		"deep schema of maps":         {deepSchema(499, "additionalProperties"), nestedObject(10_000, inA)},
		"a megabyte, nothing said":    {`{}`, clone(t, wide)},
		"a megabyte, a map":           {`{"properties":{"m":{"additionalProperties":{"type":"string"}}}}`, map[string]any{"m": clone(t, wide)}},
		"a megabyte, no-prune":        {`{"x-kubernetes-no-prune":true}`, clone(t, wide)},
		"a megabyte of wrong types":   {`{"additionalProperties":{"type":"integer"}}`, clone(t, wide)},
		"a megabyte under patterns":   {`{"patternProperties":{"^key":{},"1$":{"type":"string"}}}`, clone(t, wide)},
		"a megabyte, all keys folded": {`{"anyOf":[{"additionalProperties":{"type":"string"}},{"additionalProperties":{"nullable":true}}]}`, clone(t, wide)},
	} {
		t.Run(name, func(t *testing.T) {
			everything(build(t, tc.schema), tc.obj)
		})
	}
}

// A schema of many branches, each with names of its own, is derived in time
// linear in its size. The bound is generous: a quadratic merge takes minutes.
func TestBuildOfManyBranches(t *testing.T) {
	var branches []any
	for i := range 20_000 {
		branches = append(branches, map[string]any{"properties": map[string]any{fmt.Sprintf("p%d", i): map[string]any{"type": "string"}}})
	}
	s := decode(t, map[string]any{"anyOf": branches, "oneOf": branches})
	sk := skeleton.Build(s)
	if got := len(sk.Schema().Properties); got != len(branches) {
		t.Errorf("%d properties, want %d", got, len(branches))
	}
}

// FuzzAnything takes schemas and objects from outside as they come.
func FuzzAnything(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"items":[{}],"additionalItems":{"type":"string"}}}}`), []byte(`{"a":[{"b":1},2]}`))
	f.Add([]byte(`{"patternProperties":{"(":{},"a":{"x-kubernetes-preserve-unknown-fields":true}},"anyOf":[{"items":{}},{"items":[{}]}]}`), []byte(`{"a":{"b":null}}`))
	f.Add([]byte(`{"x-kubernetes-embedded-resource":true,"default":{},"x-kubernetes-normalize":"undefined"}`), []byte(`{"metadata":{"labels":[null]}}`))
	f.Fuzz(func(t *testing.T, schemaText, objectText []byte) {
		var in any
		var obj map[string]any
		if json.Unmarshal(schemaText, &in) != nil || json.Unmarshal(objectText, &obj) != nil {
			t.Skip()
		}
		s, _, err := schema.Decode(in)
		if err != nil {
			t.Skip()
		}
		_ = skeleton.Rules{}.Check(s)
		everything(skeleton.Build(s), obj)
	})
}

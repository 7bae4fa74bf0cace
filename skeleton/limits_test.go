package skeleton_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// everything runs all functions of the package on an object.
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

// All functions work on objects of every depth and size that a request can have. Check finds
// every wrong type, Prune drops every key that is not specified, and a second Prune drops
// nothing.
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
		// wrong and dropped are how many wrong types and dropped keys there are.
		wrong, dropped int
	}{
		"deep lists":   {schema: `{"properties":{"a":{}}}`, obj: nestedObject(10_000, inList)},
		"deep objects": {schema: `{"properties":{"a":{}}}`, obj: nestedObject(10_000, inA), dropped: 1},
		"deep lists, preserved": {
			schema: `{"properties":{"a":{"x-kubernetes-preserve-unknown-fields":true,"items":{"items":{}}}}}`,
			obj:    nestedObject(10_000, inList),
		},
		"deep lists, overlapping patterns": {
			schema: `{"patternProperties":{"a":{"items":{}},"^a":{}}}`, obj: nestedObject(10_000, inList),
		},
		"very deep lists":      {schema: `{"properties":{"a":{}}}`, obj: nestedObject(500_000, inList)},
		"deep schema of lists": {schema: deepSchema(499, "items"), obj: nestedObject(10_000, inList), dropped: 1},
		"deep schema of logic": {schema: deepSchema(499, "not"), obj: nestedObject(10_000, inA), dropped: 1},
		"deep schema of maps":  {schema: deepSchema(499, "additionalProperties"), obj: nestedObject(10_000, inA), dropped: 1},
		"a megabyte, empty schema": {
			schema: `{}`, obj: clone(t, wide), dropped: len(wide),
		},
		"a megabyte, a map": {
			schema: `{"properties":{"m":{"additionalProperties":{"type":"string"}}}}`, obj: map[string]any{"m": clone(t, wide)},
		},
		"a megabyte, no-prune": {schema: `{"x-kubernetes-no-prune":true}`, obj: clone(t, wide)},
		"a megabyte of wrong types": {
			schema: `{"additionalProperties":{"type":"integer"}}`, obj: clone(t, wide), wrong: len(wide),
		},
		"a megabyte under patterns": {
			schema: `{"patternProperties":{"^key":{},"1$":{"type":"string"}}}`, obj: clone(t, wide),
		},
		"a megabyte, all keys in logic": {
			schema: `{"anyOf":[{"additionalProperties":{"type":"string"}},{"additionalProperties":{"nullable":true}}]}`,
			obj:    clone(t, wide),
		},
	} {
		t.Run(name, func(t *testing.T) {
			sk := build(t, tc.schema)
			if wrong := len(sk.Check(tc.obj)); wrong != tc.wrong {
				t.Errorf("%d wrong types, want %d", wrong, tc.wrong)
			}
			if wrong := len(sk.CheckUpdate(tc.obj, tc.obj)); wrong != 0 {
				t.Errorf("%d wrong types in an update without changes", wrong)
			}
			if dropped := len(sk.PrunePaths(tc.obj)); dropped != tc.dropped {
				t.Errorf("%d dropped keys, want %d", dropped, tc.dropped)
			}
			everything(sk, tc.obj)
			if sk.Prune(tc.obj) {
				t.Error("the second run of Prune dropped a key")
			}
		})
	}
}

// Build takes time linear in the size of a schema with many branches that each have
// their own names. A quadratic merge would take minutes.
func TestBuildOfManyBranches(t *testing.T) {
	var branches []any
	for i := range 20_000 {
		property := map[string]any{fmt.Sprintf("p%d", i): map[string]any{"type": "string"}}
		branches = append(branches, map[string]any{"properties": property})
	}
	s := schemaOf(t, map[string]any{"anyOf": branches, "oneOf": branches})
	sk := skeleton.Build(s)
	if got := len(sk.Schema().Properties); got != len(branches) {
		t.Errorf("%d properties, want %d", got, len(branches))
	}
}

// FuzzAnything runs all functions on any schema and any object.
func FuzzAnything(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"items":[{}],"additionalItems":{"type":"string"}}}}`), []byte(`{"a":[{"b":1},2]}`))
	f.Add([]byte(`{"patternProperties":{"(":{},"a":{"x-kubernetes-preserve-unknown-fields":true}},
		"anyOf":[{"items":{}},{"items":[{}]}]}`),
		[]byte(`{"a":{"b":null}}`))
	f.Add([]byte(`{"x-kubernetes-embedded-resource":true,"default":{},"x-kubernetes-normalize":"undefined"}`),
		[]byte(`{"metadata":{"labels":[null]}}`))
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

package immutability_test

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// nest returns inner inside of depth objects or lists, each with another value
// beside.
func nest(depth int, beside, inner any, wrap func(inner, beside any) any) any {
	for range depth {
		inner = wrap(inner, beside)
	}
	return inner
}

func inObject(inner, beside any) any { return map[string]any{"a": inner, "b": beside} }
func inList(inner, beside any) any   { return []any{inner, beside} }

// Check works for objects of every size and depth that a request can have, and the
// texts of all violations are short.
func TestCheckOfLargeAndDeepObjects(t *testing.T) {
	const depth = 10_000
	payload := strings.Repeat("x", 1<<20)
	large := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = int64(i)
		}
		return list
	}
	reversed := large(200_000)
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	longKey := func(leaf any) any {
		wide := map[string]any{}
		for i := range 50_000 {
			wide[string(rune('a'+i%26))+string(rune(0x4e00+i/26))] = leaf
		}
		return map[string]any{strings.Repeat("k", 500_000): wide}
	}
	const set = `x-kubernetes-list-type: set`
	sets := `{` + set + `}`
	for range 100 {
		sets = `{` + set + `, items: ` + sets + `}`
	}
	for name, test := range map[string]struct {
		schema   string
		old, new any
		atLeast  int
	}{
		"deep objects":     {`{}`, nest(depth, int64(1), "x", inObject), nest(depth, int64(2), "z", inObject), 2},
		"deep lists":       {`{}`, nest(depth, int64(1), "x", inList), nest(depth, int64(2), "z", inList), 2},
		"deep reordering":  {`{}`, nest(depth, int64(1), payload, inList), nest(depth, int64(1), payload+"z", inList), 1},
		"deep and large":   {`{}`, nest(depth, int64(1), large(100_000), inList), nest(depth, int64(1), large(99_999), inList), 1},
		"wide lists":       {`{}`, large(200_000), large(100_000), 100_000},
		"wide reordering":  {`{}`, large(200_000), reversed, 1},
		"wide below a key": {`{}`, longKey(int64(1)), longKey(int64(2)), 50_000},
		"sets of sets":     {sets, nest(100, large(2_000), large(2_000), inList), nest(100, reversed[:2_000], large(2_000), inList), 1},
		"one key":          {`{x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}`, large(100_000), large(50_000), 50_000},
	} {
		t.Run(name, func(t *testing.T) {
			child := schemaOf(t, test.schema)
			yes := true
			child.Immutable = &yes
			policy, err := immutability.Compile(&schema.Schema{Properties: map[string]*schema.Schema{"x": child}})
			if err != nil {
				t.Fatal(err)
			}
			found := policy.Check(map[string]any{"x": test.old}, map[string]any{"x": test.new})
			if len(found) < test.atLeast {
				t.Errorf("%d violations, want at least %d", len(found), test.atLeast)
			}
			for _, v := range found {
				if text := v.String(); len(text) > 4096 {
					t.Fatalf("a message of %d bytes", len(text))
				}
			}
			if found := policy.Check(map[string]any{"x": test.old}, map[string]any{"x": test.old}); len(found) > 0 {
				t.Errorf("check(o, o) = %d violations", len(found))
			}
		})
	}
}

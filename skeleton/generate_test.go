package skeleton_test

import (
	stdjson "encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"holdfast.dev/holdfast/schema"
)

// chooser makes choices from the bytes of a fuzz input. After the last byte every choice
// is 0, for which the generators below make the smallest value.
type chooser struct{ data []byte }

func (c *chooser) below(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return int(b) % n
}

// oneIn returns true in one of n cases, and false after the last byte.
func (c *chooser) oneIn(n int) bool { return c.below(n) == n-1 }

func pick[T any](c *chooser, of []T) T { return of[c.below(len(of))] }

// inputs returns random inputs for tests that run without a fuzzer.
func inputs(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	for i := range out {
		out[i] = make([]byte, 20+r.IntN(400))
		for j := range out[i] {
			out[i][j] = byte(r.Uint32())
		}
	}
	return out
}

var (
	typeNames = []string{"", "string", "object", "array", "integer", "number", "boolean"}
	fields    = []string{"a", "b", "c", "x1", "x2"}
	patterns  = []string{"^x", "1$", "^z"}
)

// anySchema returns a schema with logic, maps, patterns and all forms of lists.
func anySchema(c *chooser, depth int) map[string]any {
	s := map[string]any{}
	if t := pick(c, typeNames); t != "" {
		s["type"] = t
	}
	if c.oneIn(6) {
		s["nullable"] = true
	}
	if s["type"] == "string" && c.oneIn(4) {
		s["format"] = "ipv4"
	}
	if depth == 0 {
		return s
	}
	child := func() any { return anySchema(c, depth-1) }
	switch c.below(8) {
	case 1, 2, 3:
		properties := map[string]any{}
		for range 1 + c.below(3) {
			properties[pick(c, fields)] = child()
		}
		s["properties"] = properties
	case 4:
		s["additionalProperties"] = child()
	case 5:
		s["patternProperties"] = map[string]any{pick(c, patterns): child(), pick(c, patterns): child()}
	case 6:
		s["additionalProperties"] = c.oneIn(2)
	}
	switch c.below(8) {
	case 1, 2:
		s["items"] = child()
	case 3:
		s["items"] = []any{child(), child()}
	case 4:
		// Upstream's validator does not validate the last of several additional
		// items, so their types cannot be compared. They get only structure.
		s["items"], s["additionalItems"] = []any{child()}, map[string]any{"properties": map[string]any{"a": child()}}
	}
	for _, logic := range []string{"allOf", "anyOf", "oneOf"} {
		if c.oneIn(4) {
			var branches []any
			for range 1 + c.below(3) {
				branches = append(branches, child())
			}
			s[logic] = branches
		}
	}
	if c.oneIn(6) {
		s["not"] = child()
	}
	return s
}

// anyValue returns a value of any type, with the names that schemas use.
func anyValue(c *chooser, depth int) any {
	kinds := 9
	if depth == 0 {
		kinds = 7
	}
	switch c.below(kinds) {
	case 0:
		return "s"
	case 1:
		return int64(c.below(3))
	case 2:
		return 1.5
	case 3:
		return true
	case 4:
		return nil
	case 5:
		return 2.0
	case 6:
		return "1.2.3.4"
	case 7:
		return anyObject(c, depth)
	}
	var list []any
	for range c.below(4) {
		list = append(list, anyValue(c, depth-1))
	}
	return list
}

func anyObject(c *chooser, depth int) map[string]any {
	obj := map[string]any{}
	for range c.below(5) {
		obj[pick(c, append(fields, "y", "z1"))] = anyValue(c, depth-1)
	}
	return obj
}

// fittingValue returns a value with only specified keys, found from the schema and not
// from a skeleton. Most values have the right type.
func fittingValue(c *chooser, nodes []*schema.Schema, depth int) any {
	nodes = unfold(nodes)
	t := pick(c, typeNames)
	for _, n := range nodes {
		if n.Type != "" && !c.oneIn(8) {
			t = n.Type
			break
		}
	}
	if depth == 0 && (t == "object" || t == "array") {
		t = ""
	}
	switch t {
	case "string":
		return "1.2.3.4"
	case "integer":
		return int64(c.below(3))
	case "number":
		return 1.5
	case "boolean":
		return c.oneIn(2)
	case "array":
		var list []any
		for i := range c.below(4) {
			list = append(list, fittingValue(c, itemNodes(nodes, i), depth-1))
		}
		return list
	case "object":
		return fittingObject(c, nodes, depth)
	}
	for _, n := range nodes {
		if n.Nullable {
			return nil
		}
	}
	return "s"
}

func fittingObject(c *chooser, nodes []*schema.Schema, depth int) map[string]any {
	obj := map[string]any{}
	for _, name := range append(fields, "y", "z1") {
		if children := keyNodes(nodes, name); len(children) > 0 && !c.oneIn(3) {
			obj[name] = fittingValue(c, children, depth-1)
		}
	}
	return obj
}

// unfold adds the schemas that are in the logic of nodes.
func unfold(nodes []*schema.Schema) []*schema.Schema {
	var out []*schema.Schema
	for _, n := range nodes {
		out = append(out, n)
		for child := range n.Children() {
			if child.Edge.IsLogic() {
				out = append(out, unfold([]*schema.Schema{child.Schema})...)
			}
		}
	}
	return out
}

func keyNodes(nodes []*schema.Schema, key string) []*schema.Schema {
	var declared, matched, additional []*schema.Schema
	for _, n := range nodes {
		if s := n.Properties[key]; s != nil {
			declared = append(declared, s)
		}
		for _, p := range slices.Sorted(maps.Keys(n.PatternProperties)) {
			if regexp.MustCompile(p).MatchString(key) {
				matched = append(matched, n.PatternProperties[p])
			}
		}
		if a := n.AdditionalProperties; a != nil && a.Schema != nil {
			additional = append(additional, a.Schema)
		} else if a != nil && a.Allows {
			additional = append(additional, &schema.Schema{})
		}
	}
	for _, found := range [][]*schema.Schema{declared, matched} {
		if len(found) > 0 {
			return found
		}
	}
	return additional
}

func itemNodes(nodes []*schema.Schema, i int) []*schema.Schema {
	var out []*schema.Schema
	longest := 0
	for _, n := range nodes {
		longest = max(longest, len(n.Tuple))
	}
	for _, n := range nodes {
		switch {
		case n.Items != nil:
			out = append(out, n.Items)
		case i < len(n.Tuple):
			out = append(out, n.Tuple[i])
		case i >= longest && n.AdditionalItems != nil && n.AdditionalItems.Schema != nil:
			out = append(out, n.AdditionalItems.Schema)
		}
	}
	return out
}

func clone(t testing.TB, v map[string]any) map[string]any {
	t.Helper()
	return deepCopy(v).(map[string]any)
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			out[key] = deepCopy(x)
		}
		return out
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = deepCopy(x)
		}
		return out
	}
	return v
}

func size(t testing.TB, s *schema.Schema) int {
	t.Helper()
	out, err := stdjson.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return len(out)
}

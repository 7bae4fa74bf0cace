package immutability_test

import (
	"fmt"
	"math/rand/v2"
)

// generator makes small schemas and values with few names, so that values often
// have the fields of the schema.
type generator struct{ *rand.Rand }

var markerNames = []string{
	"x-kubernetes-immutable", "x-kubernetes-immutable-keys", "x-kubernetes-addition-only", "x-kubernetes-deletion-only",
}

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }
func (g generator) name() string            { return string(rune('a' + g.IntN(4))) }

// schema returns a schema as JSON decoding gives it. Markers about keys are only on
// nodes with keys.
func (g generator) schema(depth int) map[string]any {
	s := map[string]any{}
	kind := g.IntN(7)
	if depth == 0 {
		kind = 6
	}
	hasKeys := false
	switch kind {
	case 0, 1:
		s["properties"] = g.schemas(depth)
	case 2:
		s["additionalProperties"], hasKeys = g.schema(depth-1), true
	case 3:
		s["patternProperties"], hasKeys = g.schemas(depth), true
	case 4:
		s["type"], s["items"] = "array", g.schema(depth-1)
		switch g.IntN(3) {
		case 0:
			s["x-kubernetes-list-type"], hasKeys = "set", true
		case 1:
			s["x-kubernetes-list-type"], hasKeys = "map", true
			s["x-kubernetes-list-map-keys"] = []any{g.name()}
		}
	case 5:
		s["items"] = []any{g.schema(depth - 1), g.schema(depth - 1)}
		s["additionalItems"] = g.schema(depth - 1)
	}
	switch {
	case g.chance(15):
		s["x-kubernetes-update"] = g.constraints(hasKeys)
	case g.chance(35):
		name := markerNames[0]
		if hasKeys {
			name = markerNames[g.IntN(len(markerNames))]
		}
		s[name] = true
	}
	return s
}

func (g generator) schemas(depth int) map[string]any {
	all := map[string]any{}
	for range 1 + g.IntN(3) {
		all[g.name()] = g.schema(depth - 1)
	}
	return all
}

// constraints returns a set of constraints.
func (g generator) constraints(hasKeys bool) []any {
	names := []any{"NoSet", "NoUnset", "NoModify"}
	if hasKeys {
		names = append(names, "NoAddItem", "NoRemoveItem")
	}
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:1+g.IntN(len(names))]
}

// root returns a schema that is valid at the root.
func (g generator) root(depth int) map[string]any {
	return map[string]any{"properties": g.schemas(depth)}
}

// value returns a value that mostly follows a schema.
func (g generator) value(s map[string]any, depth int) any {
	if depth == 0 || s == nil || g.chance(10) {
		return g.scalar()
	}
	items, isList := s["items"]
	if isList {
		list := []any{}
		for i := range g.IntN(4) {
			item, _ := items.(map[string]any)
			if tuple, ok := items.([]any); ok && i < len(tuple) {
				item, _ = tuple[i].(map[string]any)
			}
			list = append(list, g.value(item, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range g.IntN(4) {
		key := g.name()
		object[key] = g.value(g.below(s, key), depth-1)
	}
	return object
}

func (g generator) below(s map[string]any, key string) map[string]any {
	for _, keyword := range []string{"properties", "patternProperties"} {
		if children, ok := s[keyword].(map[string]any); ok {
			if child, ok := children[key].(map[string]any); ok {
				return child
			}
		}
	}
	child, _ := s["additionalProperties"].(map[string]any)
	return child
}

func (g generator) scalar() any {
	return []any{"a", "b", "", int64(0), int64(1), 1.0, 1.5, true, false, nil, map[string]any{}, []any{}}[g.IntN(12)]
}

// mutate returns a copy of v with a few changes. Unchanged parts may be shared.
func (g generator) mutate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if g.chance(20) {
			return v
		}
		object := map[string]any{}
		for key, value := range v {
			if !g.chance(7) {
				object[key] = g.mutate(value)
			}
		}
		if g.chance(10) {
			object[g.name()] = g.scalar()
		}
		return object
	case []any:
		list := []any{}
		for _, item := range v {
			if !g.chance(7) {
				list = append(list, g.mutate(item))
			}
		}
		if g.chance(30) {
			g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		if g.chance(10) {
			list = append(list, g.scalar())
		}
		return list
	}
	if g.chance(10) {
		return g.scalar()
	}
	return v
}

// wide returns an object with a list of n items.
func wide(n int, item func(i int) any) map[string]any {
	list := make([]any, n)
	for i := range list {
		list[i] = item(i)
	}
	return map[string]any{"l": list}
}

func keyedItem(i int) any {
	return map[string]any{"name": fmt.Sprintf("item-%06d", i), "x": int64(i)}
}

func scalarItem(i int) any { return fmt.Sprintf("item-%06d", i) }

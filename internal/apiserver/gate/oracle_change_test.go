package gate_test

import (
	"maps"
	"slices"
)

// mutate changes a schema at a random place.
func (g generator) mutate(n node) {
	properties, _ := n["properties"].(node)
	if len(properties) > 0 && !g.chance(3) {
		names := slices.Sorted(maps.Keys(properties))
		g.mutate(properties[pick(g, names...)].(node))
		return
	}
	_, isList := n["items"].(node)
	values, isMap := n["additionalProperties"].(node)
	switch {
	case isList:
		g.mutateList(n)
	case isMap:
		g.mutate(values)
	case properties == nil && !g.chance(4):
		g.restrict(n)
	case properties == nil:
		clear(n)
		maps.Copy(n, g.schema(0))
	default:
		g.mutateObject(n, properties)
	}
	clean(n)
}

// mutateList changes how the items of a list are told apart, how many there may be, or an item.
func (g generator) mutateList(n node) {
	listType := n["x-kubernetes-list-type"]
	switch {
	case listType == "map":
		n["x-kubernetes-list-map-keys"] = []any{"a", "b"}[:1+g.IntN(2)]
	case (listType == "set" || listType == "atomic") && g.chance(2):
		n["x-kubernetes-list-type"] = pick(g, "set", "atomic")
	case g.chance(3):
		n["maxItems"] = g.IntN(3)
	case listType == nil:
		g.mutate(n["items"].(node))
	default:
		g.restrictText(n["items"].(node))
	}
}

// mutateObject adds and removes a property, or changes what the properties have in common.
func (g generator) mutateObject(n, properties node) {
	name := g.letter()
	switch g.IntN(7) {
	case 0, 1:
		delete(properties, name)
	case 2:
		properties[name] = g.schema(1)
	case 3:
		if n["x-kubernetes-preserve-unknown-fields"] == nil {
			n["x-kubernetes-preserve-unknown-fields"] = true
			delete(n, "maxProperties")
		} else {
			delete(n, "x-kubernetes-preserve-unknown-fields")
		}
	default:
		g.restrict(n)
	}
}

// clean removes what names a property that is gone: the server would refuse the definition.
func clean(n node) {
	properties, _ := n["properties"].(node)
	names := func(of any) bool {
		required, _ := of.(node)["required"].([]any)
		return slices.ContainsFunc(required, func(name any) bool { return properties[name.(string)] == nil })
	}
	if n["type"] != "object" {
		return
	}
	if names(n) {
		delete(n, "required")
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if alternatives, ok := n[keyword].([]any); ok && slices.ContainsFunc(alternatives, names) {
			delete(n, keyword)
		}
	}
}

package gate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

type node = map[string]any

// generator makes random schemas, changes of them, and values.
type generator struct{ *rand.Rand }

// chance returns true in one of n cases.
func (g generator) chance(n int) bool { return g.IntN(n) == 0 }

// pick returns one of the arguments.
func pick[V any](g generator, from ...V) V { return from[g.IntN(len(from))] }

func (g generator) letter() string { return pick(g, "a", "b", "c", "d", "e") }

// spec returns the schema of spec.
func (g generator) spec() node {
	n := node{"type": "object", "properties": node{"a": g.schema(2), "b": g.schema(2)}}
	if g.chance(4) {
		g.restrict(n)
	}
	return n
}

// schema returns a schema with at most the given number of levels below it.
func (g generator) schema(levels int) node {
	kinds := 4
	if levels > 0 {
		kinds = 9
	}
	n := node{}
	switch g.IntN(kinds) {
	case 0, 1:
		n["type"] = "string"
	case 2:
		n["type"] = pick(g, "integer", "integer", "number")
	case 3:
		n["type"] = "boolean"
		if g.chance(3) {
			n = node{"x-kubernetes-int-or-string": true}
		}
	case 4:
		return node{"type": "object", "additionalProperties": g.schema(0)}
	case 5:
		n = node{"type": "array", "maxItems": 5, "items": g.schema(levels - 1)}
		return n
	case 6:
		return node{
			"type": "array", "maxItems": 5, "items": node{"type": "string", "maxLength": 20},
			"x-kubernetes-list-type": pick(g, "set", "atomic"),
		}
	case 7:
		return node{
			"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"a"},
			"items": node{
				"type": "object", "required": []any{"a", "b"},
				"properties": node{"a": node{"type": "string", "maxLength": 20}, "b": node{"type": "string", "maxLength": 20}},
			},
		}
	default:
		properties := node{}
		for range 1 + g.IntN(3) {
			properties[g.letter()] = g.schema(levels - 1)
		}
		n = node{"type": "object", "properties": properties}
		if g.chance(4) {
			n["x-kubernetes-preserve-unknown-fields"] = true
		}
	}
	g.restrict(n)
	return n
}

// restrictions are the keywords that say which values a schema accepts, and what it makes of an absent value.
var restrictions = []string{
	"enum", "pattern", "minLength", "format", "maximum", "minimum", "multipleOf", "nullable", "default",
	"anyOf", "allOf", "oneOf", "not", "x-kubernetes-validations", "required", "maxProperties",
}

// restrict adds a restriction to a schema, or removes all.
func (g generator) restrict(n node) {
	if g.chance(3) {
		for _, keyword := range restrictions {
			delete(n, keyword)
		}
		return
	}
	if g.chance(6) && n["type"] != "object" {
		n["nullable"] = true
		return
	}
	switch n["type"] {
	case "integer", "number":
		g.restrictNumber(n)
	case "string":
		g.restrictText(n)
	case "object":
		g.restrictObject(n)
	case "boolean":
		g.addDefault(n)
	}
}

func (g generator) restrictNumber(n node) {
	switch g.IntN(6) {
	case 0:
		n["maximum"] = g.IntN(4)
	case 1:
		n["minimum"] = g.IntN(3)
	case 2:
		n["multipleOf"] = 2
	case 3:
		g.addDefault(n)
	case 4:
		n["x-kubernetes-validations"] = []any{node{"rule": pick(g, "self < 3", "self != 2", "self > 0 || self == 0")}}
	default:
		n["anyOf"] = []any{node{"maximum": 1}, node{"minimum": g.IntN(4)}}
	}
}

func (g generator) restrictText(n node) {
	n["maxLength"] = 20 // bounds the cost of rules
	switch g.IntN(10) {
	case 0:
		n["enum"] = []any{"", "x", "xy"}[:1+g.IntN(3)]
	case 1:
		n["maxLength"] = g.IntN(3)
	case 2:
		n["minLength"] = g.IntN(3)
	case 3:
		n["pattern"] = pick(g, "^x*$", "x", "^[xy]?$")
	case 4:
		n["format"] = pick(g, "ipv4", "date-time", "uuid", "byte", "unheard-of")
	case 5:
		g.addDefault(n)
	case 6:
		n["not"] = node{"enum": []any{pick(g, "", "x", "xy")}}
	case 7:
		n["anyOf"] = []any{node{"enum": []any{"x"}}, node{"maxLength": g.IntN(3)}}
	case 8:
		n["allOf"] = []any{node{"pattern": pick(g, "^x*$", "^[xy]*$")}}
	default:
		n["x-kubernetes-validations"] = []any{node{"rule": pick(g, "self != 'x'", "self.size() < 2", "!self.startsWith('x')", "self == self")}}
	}
}

func (g generator) restrictObject(n node) {
	properties, _ := n["properties"].(node)
	names := slices.Sorted(maps.Keys(properties))
	if len(names) == 0 {
		return
	}
	one, other := pick(g, names...), pick(g, names...)
	switch g.IntN(5) {
	case 0, 1:
		n["required"] = []any{one}
	case 2:
		rule := pick(g, "has(self.%[1]s)", "!has(self.%[1]s) || has(self.%[2]s)", "!(has(self.%[1]s) && has(self.%[2]s))", "has(self.%[1]s) || !has(self.%[1]s)")
		n["x-kubernetes-validations"] = []any{node{"rule": fmt.Sprintf(rule+" || false", one, other)}}
	case 3:
		n[pick(g, "oneOf", "anyOf")] = []any{node{"required": []any{one}}, node{"required": []any{other}}}
	default:
		if n["x-kubernetes-preserve-unknown-fields"] == nil {
			n["maxProperties"] = 1 + g.IntN(3)
		}
	}
}

// addDefault adds a default that fits to the type. The server refuses the definition if it does not fit to the rest.
func (g generator) addDefault(n node) {
	delete(n, "default")
	n["default"] = g.value(n)
}

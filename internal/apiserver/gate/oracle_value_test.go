package gate_test

import (
	"maps"
	"slices"
)

// value returns a value that fits to the type of a schema, and in most cases to the rest.
func (g generator) value(n node) any {
	if n["nullable"] == true && g.chance(3) {
		return nil
	}
	if n["x-kubernetes-int-or-string"] == true {
		return pick[any](g, "x", int64(3))
	}
	switch n["type"] {
	case "string":
		return g.text(n)
	case "integer", "number":
		return int64(g.IntN(5))
	case "boolean":
		return g.chance(2)
	case "array":
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.value(n["items"].(node)))
		}
		return list
	}
	return g.object(n)
}

func (g generator) text(n node) string {
	if enum, ok := n["enum"].([]any); ok && !g.chance(4) {
		return pick(g, enum...).(string)
	}
	switch {
	case n["format"] == nil || g.chance(4):
		return pick(g, "", "x", "xy", "xx", "xx", "eHh4")
	case n["format"] == "ipv4":
		return "1.2.3.4"
	case n["format"] == "date-time":
		return "2020-01-01T00:00:00Z"
	case n["format"] == "uuid":
		return "123e4567-e89b-42d3-a456-426614174000"
	}
	return "eHh4"
}

func (g generator) object(n node) any {
	out := node{}
	if values, ok := n["additionalProperties"].(node); ok {
		out[g.letter()] = g.value(values)
		return out
	}
	required, _ := n["required"].([]any)
	properties, _ := n["properties"].(node)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !g.chance(3) || slices.Contains(required, any(name)) {
			out[name] = g.value(properties[name].(node))
		}
	}
	if n["x-kubernetes-preserve-unknown-fields"] != nil {
		out[g.letter()+"z"] = "unknown"
	}
	return out
}

// missing is what a value has and another one has not. The larger value is the worse one.
type missing int

const (
	nothing missing = iota
	// aNull is a field with null. The server may also remove it only because the schema does not allow null any more.
	aNull
	aField
)

// missingFrom returns what a value has and another one has not.
func missingFrom(other, v any) missing {
	worst := nothing
	switch v := v.(type) {
	case node:
		o, _ := other.(node)
		for name, child := range v {
			below, ok := o[name]
			switch {
			case ok:
				worst = max(worst, missingFrom(below, child))
			case child == nil:
				worst = max(worst, aNull)
			default:
				return aField
			}
		}
	case []any:
		o, _ := other.([]any)
		for i := range v {
			if i >= len(o) {
				return aField
			}
			worst = max(worst, missingFrom(o[i], v[i]))
		}
	}
	return worst
}

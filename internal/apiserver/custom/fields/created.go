package fields

import (
	"maps"

	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"holdfast.dev/holdfast/value"
)

// maxCompared is the length of the longest list for which items compares each item with all others.
const maxCompared = 32

// createdSet computes the set of all fields of a new object. The set has each value of the object, and also the objects and
// lists that hold values, except for the whole object and its metadata.
//
// Each method takes a known set, which may be nil, and returns the known set itself if it is the result. So the set of an object with the
// same fields as the one before needs no memory. A result shares the sets below it with the known set.
type createdSet struct{ schema *schema.Schema }

// membership says whether a set has an object itself, beside its fields.
type membership int

const (
	unnamed membership = iota
	named
)

// noFields is the set below a value without fields. It is shared, so no code may change it.
var noFields = map[string]any{}

// value returns the set below a value. It returns false if the value does not fit the schema.
func (c createdSet) value(ref schema.TypeRef, v any, known map[string]any, itself membership) (map[string]any, bool) {
	atom, ok := c.schema.Resolve(ref)
	if !ok {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		switch {
		case atom.Map == nil || v == nil:
			return nil, false
		case atom.Map.ElementRelationship == schema.Atomic:
			ok = isValid(c.schema, ref, v)
		case len(v) > 0:
			return c.fields(atom.Map, v, known, itself)
		}
	case []any:
		switch {
		case atom.List == nil || v == nil:
			return nil, false
		case atom.List.ElementRelationship == schema.Atomic:
			ok = isValid(c.schema, ref, v)
		case len(v) > 0:
			return c.items(atom.List, v, known)
		}
	default:
		ok = isScalar(atom, v)
	}
	if known == nil || len(known) > 0 {
		return noFields, ok
	}
	return known, ok
}

// fields returns the set of the fields of an object.
func (c createdSet) fields(t *schema.Map, obj, known map[string]any, itself membership) (map[string]any, bool) {
	out, isKnown := known, hasFields(known, obj, itself)
	if !isKnown {
		out = make(map[string]any, len(obj)+int(itself))
		if itself == named {
			out["."] = noFields
		}
	}
	for key, v := range obj {
		before, _ := known[fieldPrefix+key].(map[string]any)
		below := named
		if itself == unnamed && key == "metadata" {
			below = unnamed
		}
		fields, ok := c.value(fieldType(t, key), v, before, below)
		if !ok {
			return nil, false
		}
		if isKnown {
			if value.SameObject(fields, before) {
				continue
			}
			out, isKnown = maps.Clone(known), false
		}
		out[fieldPrefix+key] = fields
	}
	return out, true
}

// hasFields reports whether a set has the fields of an object, and no other fields.
func hasFields(set, obj map[string]any, itself membership) bool {
	if _, ok := set["."]; ok != (itself == named) || len(set) != len(obj)+int(itself) {
		return false
	}
	for key := range obj {
		if set[fieldPrefix+key] == nil {
			return false
		}
	}
	return true
}

// items returns the set of the items of a list that has keys or is a set. It returns false for a list with equal items.
func (c createdSet) items(t *schema.List, list []any, known map[string]any) (map[string]any, bool) {
	if t.ElementRelationship != schema.Associative {
		return nil, false
	}
	_, ok := known["."]
	isKnown := ok && len(known) == len(list)+1 && len(list) <= maxCompared
	out := known
	if !isKnown {
		out = map[string]any{".": noFields}
	}
	name := make([]byte, 0, 64)
	for i, item := range list {
		if name, ok = appendItemName(name[:0], t.Keys, item); !ok {
			return nil, false
		}
		before, _ := known[string(name)].(map[string]any)
		fields, ok := c.value(t.ElementType, item, before, named)
		if !ok {
			return nil, false
		}
		if isKnown {
			if before != nil && value.SameObject(fields, before) && !hasItem(list[:i], t.Keys, item) {
				continue
			}
			out, isKnown = namedItems(t, list[:i], known), false
		}
		if out[string(name)] != nil {
			return nil, false
		}
		out[string(name)] = fields
	}
	return out, true
}

// namedItems returns the part of a set for some items of a list.
func namedItems(t *schema.List, items []any, set map[string]any) map[string]any {
	out := map[string]any{".": noFields}
	for _, item := range items {
		if name, ok := itemName(t.Keys, item); ok {
			out[name] = set[name]
		}
	}
	return out
}

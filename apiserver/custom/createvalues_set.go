package custom

import (
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	mergevalue "sigs.k8s.io/structured-merge-diff/v6/value"
)

// createdSet computes the set of all fields of a new object. The set has each value of the object, and also the objects and
// lists that hold values, except for the whole object and its metadata.
type createdSet struct{ schema *schema.Schema }

// membership says whether a set has an object itself, beside its fields.
type membership int

const (
	unnamed membership = iota
	named
)

// noFields is the set below a value without fields. It is shared, so no code may change it.
var noFields = map[string]any{}

// value returns the set below a value.
func (c createdSet) value(ref schema.TypeRef, v any, itself membership) (map[string]any, bool) {
	atom, ok := c.schema.Resolve(ref)
	if !ok || !c.fits(atom, ref, v) {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && atom.Map.ElementRelationship != schema.Atomic {
			return c.fields(atom.Map, v, itself)
		}
	case []any:
		if len(v) > 0 && atom.List.ElementRelationship != schema.Atomic {
			return c.items(atom.List, v)
		}
	}
	return noFields, true
}

// fits reports whether a value has the type of the schema. Of an object and of a list that is not atomic, it looks only at the type.
func (c createdSet) fits(atom schema.Atom, ref schema.TypeRef, v any) bool {
	atomic := false
	switch v := v.(type) {
	case map[string]any:
		if atom.Map == nil || v == nil {
			return false
		}
		atomic = atom.Map.ElementRelationship == schema.Atomic
	case []any:
		if atom.List == nil || v == nil {
			return false
		}
		atomic = atom.List.ElementRelationship == schema.Atomic
	case string, bool, int64, float64:
		return atom.Scalar != nil && isOfType(*atom.Scalar, v)
	default:
		return false
	}
	if !atomic {
		return true
	}
	_, err := typed.AsTyped(mergevalue.NewValueInterface(v), c.schema, ref)
	return err == nil
}

// fields returns the set of the fields of an object.
func (c createdSet) fields(t *schema.Map, obj map[string]any, itself membership) (map[string]any, bool) {
	out := make(map[string]any, len(obj)+int(itself))
	if itself == named {
		out["."] = noFields
	}
	for key, v := range obj {
		below, ok := c.value(fieldType(t, key), v, c.membershipOf(key, itself))
		if !ok {
			return nil, false
		}
		out[fieldPrefix+key] = below
	}
	return out, true
}

// membershipOf returns the membership of a field of an object. Only the whole object has the metadata of an object.
func (createdSet) membershipOf(key string, parent membership) membership {
	if parent == unnamed && key == "metadata" {
		return unnamed
	}
	return named
}

// items returns the set of the items of a list that has keys or is a set. It returns false for a list with equal items.
func (c createdSet) items(t *schema.List, list []any) (map[string]any, bool) {
	if t.ElementRelationship != schema.Associative {
		return nil, false
	}
	out := make(map[string]any, len(list)+1)
	out["."] = noFields
	for _, item := range list {
		name, ok := itemName(t.Keys, item)
		if !ok || out[name] != nil {
			return nil, false
		}
		if out[name], ok = c.value(t.ElementType, item, named); !ok {
			return nil, false
		}
	}
	return out, true
}

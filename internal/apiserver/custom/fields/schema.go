package fields

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	mergevalue "sigs.k8s.io/structured-merge-diff/v6/value"
)

// isStable reports whether the library would leave a set of fields as it is. If a list or an object of the set is atomic now, but was not
// when the set was written, the library replaces its fields in the set.
func isStable(s *schema.Schema, ref schema.TypeRef, fields map[string]any) bool {
	atom, ok := s.Resolve(ref)
	switch {
	case !ok:
		return false
	case len(fields) == 0:
		return true
	case atom.Map != nil && atom.Map.ElementRelationship == schema.Atomic:
		return false
	case atom.Map != nil:
	case atom.Scalar != nil:
		return true
	case atom.List == nil || atom.List.ElementRelationship == schema.Atomic:
		return false
	}
	for key, v := range fields {
		if key == "." {
			continue
		}
		child, ok := childType(atom, key)
		below, isSet := v.(map[string]any)
		isRemoved := child == schema.TypeRef{} // the schema has no such field any more
		if !ok || !isSet || !isRemoved && !isStable(s, child, below) {
			return false
		}
	}
	return true
}

// childType returns the type of a key in a set of fields. It returns false for a key that an object or a list does not have.
func childType(atom schema.Atom, key string) (schema.TypeRef, bool) {
	if atom.Map != nil {
		name, ok := strings.CutPrefix(key, fieldPrefix)
		return fieldType(atom.Map, name), ok
	}
	return atom.List.ElementType, strings.HasPrefix(key, keyPrefix) || strings.HasPrefix(key, valuePrefix)
}

// fieldType returns the type of a field of an object.
func fieldType(t *schema.Map, key string) schema.TypeRef {
	if field, isNamed := t.FindField(key); isNamed {
		return field.Type
	}
	return t.ElementType
}

// isValid reports whether a value fits the schema.
func isValid(s *schema.Schema, ref schema.TypeRef, v any) bool {
	_, err := typed.AsTyped(mergevalue.NewValueInterface(v), s, ref)
	return err == nil
}

// isScalar reports whether a value is a scalar that fits the schema.
func isScalar(atom schema.Atom, v any) bool {
	if atom.Scalar == nil {
		return false
	}
	switch v.(type) {
	case string:
		return *atom.Scalar == schema.String || *atom.Scalar == schema.Untyped
	case bool:
		return *atom.Scalar == schema.Boolean || *atom.Scalar == schema.Untyped
	case int64, float64:
		return *atom.Scalar == schema.Numeric || *atom.Scalar == schema.Untyped
	}
	return false
}

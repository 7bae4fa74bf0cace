package custom

import (
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	mergevalue "sigs.k8s.io/structured-merge-diff/v6/value"
)

// fieldWalk walks through the values of an object and through sets of fields at once.
type fieldWalk struct {
	schema *schema.Schema
	// others are the sets of fields of the managers that do not write.
	others []map[string]any
	// path leads to the current value.
	path []pathElement
}

// hasOtherOwner reports whether a manager that does not write owns the current value, or anything below it.
func (w *fieldWalk) hasOtherOwner() bool {
	return slices.ContainsFunc(w.others, func(fields map[string]any) bool { return w.at(fields) != nil })
}

// at returns the part of a set of fields at the current value. It returns nil if the set has neither the value nor anything
// below it.
func (w *fieldWalk) at(fields map[string]any) map[string]any {
	for _, e := range w.path {
		below, ok := fields[e.prefix+e.name].(map[string]any)
		if !ok {
			return nil
		}
		fields = below
	}
	return fields
}

func (w *fieldWalk) inMetadata() bool { return len(w.path) > 0 && w.path[0].name == "metadata" }

// isOther reports whether a list or an object that has one owner as a whole fits the schema, and differs from the stored one
// for the library: it takes 1 and 1.0 for the same value.
func (w *fieldWalk) isOther(ref schema.TypeRef, live, written any) bool {
	other := mergevalue.NewValueInterface(written)
	if mergevalue.Equals(mergevalue.NewValueInterface(live), other) {
		return false
	}
	_, err := typed.AsTyped(other, w.schema, ref)
	return err == nil
}

// isStable reports whether the library would leave a set of fields as it is. If a list or an object of the set
// is atomic now, but was not when the set was written, the library replaces its fields in the set.
func (w *fieldWalk) isStable(ref schema.TypeRef, fields map[string]any) bool {
	atom, ok := w.schema.Resolve(ref)
	if !ok {
		return false
	}
	switch {
	case len(fields) == 0:
		return true
	case atom.Map != nil:
		return atom.Map.ElementRelationship != schema.Atomic && w.areFieldsStable(atom.Map, fields)
	case atom.Scalar != nil:
		return true
	case atom.List != nil:
		return atom.List.ElementRelationship != schema.Atomic && w.areItemsStable(atom.List, fields)
	}
	return false
}

func (w *fieldWalk) areFieldsStable(t *schema.Map, fields map[string]any) bool {
	for key, v := range fields {
		if key == "." {
			continue
		}
		name, isField := strings.CutPrefix(key, fieldPrefix)
		below, isSet := v.(map[string]any)
		if !isField || !isSet {
			return false
		}
		ref := t.ElementType
		if field, isNamed := t.FindField(name); isNamed {
			ref = field.Type
		} else if ref == (schema.TypeRef{}) {
			continue // the schema has no such field any more
		}
		if !w.isStable(ref, below) {
			return false
		}
	}
	return true
}

func (w *fieldWalk) areItemsStable(t *schema.List, fields map[string]any) bool {
	for key, v := range fields {
		if key == "." {
			continue
		}
		below, isSet := v.(map[string]any)
		isItem := strings.HasPrefix(key, keyPrefix) || strings.HasPrefix(key, valuePrefix)
		if !isItem || !isSet || !w.isStable(t.ElementType, below) {
			return false
		}
	}
	return true
}

// fieldType returns the type of a field of an object.
func fieldType(t *schema.Map, key string) schema.TypeRef {
	if field, isNamed := t.FindField(key); isNamed {
		return field.Type
	}
	return t.ElementType
}

func isOfType(t schema.Scalar, v any) bool {
	switch v.(type) {
	case string:
		return t == schema.String || t == schema.Untyped
	case bool:
		return t == schema.Boolean || t == schema.Untyped
	}
	return t == schema.Numeric || t == schema.Untyped
}

func haveSameType(a, b any) bool {
	var ok bool
	switch a.(type) {
	case string:
		_, ok = b.(string)
	case bool:
		_, ok = b.(bool)
	case int64:
		_, ok = b.(int64)
	case float64:
		_, ok = b.(float64)
	}
	return ok
}

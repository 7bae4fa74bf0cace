package custom

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// The keys of a set of fields begin with one of these.
const (
	fieldPrefix = "f:"
	keyPrefix   = "k:"
	valuePrefix = "v:"
)

// pathElement is a key of a set of fields. It is kept in two parts, because the whole key is seldom needed.
type pathElement struct{ prefix, name string }

// itemName returns the name of an item of a list in a set of fields, in the form that the library writes. It returns
// false if the item lacks a key of the list, or if a key has a value that this function cannot write.
func itemName(keys []string, item any) (string, bool) {
	if len(keys) == 0 {
		text, ok := appendScalar([]byte(valuePrefix), item)
		return string(text), ok
	}
	fields, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	if len(keys) > 1 {
		keys = slices.Sorted(slices.Values(keys))
	}
	text := append(make([]byte, 0, 64), keyPrefix+"{"...)
	for i, key := range keys {
		if i > 0 {
			text = append(text, ',')
		}
		if text, ok = appendScalar(text, key); !ok {
			return "", false
		}
		text = append(text, ':')
		if text, ok = appendScalar(text, fields[key]); !ok {
			return "", false
		}
	}
	return string(append(text, '}')), true
}

// appendScalar appends the JSON text of a value. It returns false for text that needs an escape sequence, and for
// floating-point numbers.
func appendScalar(text []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case string:
		for i := range len(v) {
			if c := v[i]; c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
				return text, false
			}
		}
		return append(append(append(text, '"'), v...), '"'), true
	case int64:
		return strconv.AppendInt(text, v, 10), true
	case bool:
		return strconv.AppendBool(text, v), true
	}
	return text, false
}

// isSameItem reports whether two items of a list have the same keys, or the same value in a set.
func isSameItem(keys []string, a, b any) bool {
	if len(keys) == 0 {
		return isSameScalar(a, b)
	}
	x, isObject := a.(map[string]any)
	y, isOther := b.(map[string]any)
	if !isObject || !isOther {
		return false
	}
	for _, key := range keys {
		if !isSameScalar(x[key], y[key]) {
			return false
		}
	}
	return true
}

func isSameScalar(a, b any) bool { return haveSameType(a, b) && a == b }

// isStable reports whether the library would leave a set of fields as it is. If a list or an object of the set
// is atomic now, but was not when the set was written, the library replaces its fields in the set.
func (m *valueMerge) isStable(ref schema.TypeRef, fields map[string]any) bool {
	atom, ok := m.schema.Resolve(ref)
	if !ok {
		return false
	}
	switch {
	case len(fields) == 0:
		return true
	case atom.Map != nil:
		return atom.Map.ElementRelationship != schema.Atomic && m.areFieldsStable(atom.Map, fields)
	case atom.Scalar != nil:
		return true
	case atom.List != nil:
		return atom.List.ElementRelationship != schema.Atomic && m.areItemsStable(atom.List, fields)
	}
	return false
}

func (m *valueMerge) areFieldsStable(t *schema.Map, fields map[string]any) bool {
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
		if !m.isStable(ref, below) {
			return false
		}
	}
	return true
}

func (m *valueMerge) areItemsStable(t *schema.List, fields map[string]any) bool {
	for key, v := range fields {
		if key == "." {
			continue
		}
		below, isSet := v.(map[string]any)
		isItem := strings.HasPrefix(key, keyPrefix) || strings.HasPrefix(key, valuePrefix)
		if !isItem || !isSet || !m.isStable(t.ElementType, below) {
			return false
		}
	}
	return true
}

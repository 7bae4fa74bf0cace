package value

import (
	"reflect"
	"slices"
)

// Mode says which values count as absent when two values are compared. In every
// mode the empty string, 0 and false are values.
type Mode uint8

const (
	// Strict means that absent, null, {} and [] are four different values. It is
	// for custom resources, and for all values that need no other mode.
	Strict Mode = iota
	// BuiltIn means that null, {} and [] count as absent, and so does an object
	// that has only such values. It is for built-in kinds: their Go types omit
	// empty fields.
	BuiltIn
	// Applied means that null counts as absent; {} and [] are values. It is for
	// configurations of apply, in which null means that a field is not set.
	Applied
	// Served means that null and [] count as absent; {} is a value. It is for stored
	// objects of built-in kinds: the server serves a list that was stored empty as
	// null or not at all, but podSelector: {} differs from no podSelector.
	Served
)

// Absent is the value of a key that an object does not have.
type Absent struct{}

// IsAbsent reports whether v counts as absent.
func (m Mode) IsAbsent(v any) bool {
	switch v := m.Reduce(v).(type) {
	case Absent:
		return true
	case map[string]any:
		return m == BuiltIn && m.allAbsent(v)
	}
	return false
}

func (m Mode) allAbsent(object map[string]any) bool {
	for _, v := range object {
		if !m.IsAbsent(v) {
			return false
		}
	}
	return true
}

// Field returns the value of a key, or Absent if the object does not have the key.
// In every mode but Strict, it also returns Absent for null.
func (m Mode) Field(object map[string]any, name string) any {
	if v, present := object[name]; present && (v != nil || m == Strict) {
		return v
	}
	return Absent{}
}

// Reduce returns Absent for a value that counts as absent, else the value. It does
// not read the keys of objects: an object with only absent values is returned as
// it is.
func (m Mode) Reduce(v any) any {
	if m == Strict {
		return v
	}
	switch x := v.(type) {
	case nil:
		return Absent{}
	case []any:
		if (m == BuiltIn || m == Served) && len(x) == 0 {
			return Absent{}
		}
	case map[string]any:
		if m == BuiltIn && len(x) == 0 {
			return Absent{}
		}
	}
	return v
}

// SameObject reports whether two maps are one map in memory.
func SameObject(a, b map[string]any) bool {
	return len(a) == len(b) && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// Identical reports whether two values have the same types and content. The numbers 1 and 1.0 are equal, but not
// identical: one is an int64 and the other a float64.
func Identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && (a == nil) == (b == nil) && (SameObject(a, b) || identicalObjects(a, b))
	case []any:
		b, ok := b.([]any)
		return ok && (a == nil) == (b == nil) && (SameList(a, b) || slices.EqualFunc(a, b, Identical))
	case nil, bool, string, int64, float64:
		return a == b
	}
	return reflect.DeepEqual(a, b)
}

func identicalObjects(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if other, ok := b[name]; !ok || !Identical(v, other) {
			return false
		}
	}
	return true
}

// SameList reports whether two lists are one list in memory, or both empty.
func SameList(a, b []any) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

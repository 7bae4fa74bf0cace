package value

import "reflect"

// Mode says which values count as absent when two values are compared. In every
// mode the empty string, 0 and false are values.
type Mode uint8

const (
	// Strict tells absent, null, {} and [] apart. Custom resources are compared
	// so, and so is everything else without a reason for another mode.
	Strict Mode = iota
	// BuiltIn takes absent, null, {} and [] for one value, and with them an
	// object that holds nothing else. The built-in kinds are compared so: their
	// Go types omit empty fields.
	BuiltIn
	// Applied takes null for absent; {} and [] are values. Configurations of
	// apply are compared so: null in them means that the field is not set.
	Applied
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

// Field returns the value of a key, or Absent.
func (m Mode) Field(object map[string]any, name string) any {
	if v, present := object[name]; present && (v != nil || m == Strict) {
		return v
	}
	return Absent{}
}

// Reduce returns Absent for a value that counts as absent, else the value. It
// does not look into objects: those that hold only absent values are found when
// their keys are compared.
func (m Mode) Reduce(v any) any {
	if m == Strict {
		return v
	}
	switch x := v.(type) {
	case nil:
		return Absent{}
	case []any:
		if m == BuiltIn && len(x) == 0 {
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

// SameList reports whether two lists are one list in memory, or both empty.
func SameList(a, b []any) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

package skeleton

import "math"

// kind is a basic type of JSON that a schema can name. anyKind means that no type is
// demanded.
type kind uint8

const (
	anyKind kind = iota
	objectKind
	arrayKind
	stringKind
	booleanKind
	integerKind
	numberKind
)

var kindNames = [...]string{"", "object", "array", "string", "boolean", "integer", "number"}

// String returns the type as a schema names it.
func (k kind) String() string { return kindNames[k] }

// kindNamed returns the kind with a name, anyKind if there is none.
func kindNamed(name string) kind {
	for k, n := range kindNames {
		if n == name {
			return kind(k)
		}
	}
	return anyKind
}

// accepts reports whether a value that is not null has the kind. Integers are numbers,
// and 1.0 is an integer, because JSON does not distinguish it from 1.
func (k kind) accepts(x any) bool {
	got := kindOf(x)
	switch k {
	case anyKind:
		return true
	case numberKind:
		return got == numberKind || got == integerKind
	case integerKind:
		if f, ok := x.(float64); ok {
			return f == math.Trunc(f) && !math.IsInf(f, 0)
		}
	}
	return got == k
}

// kindOf returns the kind of a value, anyKind for null and for Go values that JSON
// decoding never gives.
func kindOf(x any) kind {
	switch x.(type) {
	case map[string]any:
		return objectKind
	case []any:
		return arrayKind
	case string:
		return stringKind
	case bool:
		return booleanKind
	case int64:
		return integerKind
	case float64:
		return numberKind
	}
	return anyKind
}

package value

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Compare orders two values: the result is negative, zero or positive as a comes
// before b, equals it or comes after it. It is zero exactly if the values are
// equal in the mode. Absent comes first, then null, false, true, numbers by
// value, strings by their bytes, lists item by item and objects key by key.
// Values that JSON cannot hold come last, in no order.
func (m Mode) Compare(a, b any) int {
	kindA, kindB := m.kindOf(a), m.kindOf(b)
	if kindA != kindB {
		return cmp.Compare(kindA, kindB)
	}
	switch kindA {
	case numericKind:
		x, _ := numberOf(a)
		y, _ := numberOf(b)
		return x.compare(y)
	case stringKind:
		return strings.Compare(a.(string), b.(string))
	case listKind:
		return slices.CompareFunc(a.([]any), b.([]any), m.Compare)
	case objectKind:
		return m.compareObjects(a.(map[string]any), b.(map[string]any))
	}
	return 0
}

// kind is the kind of a value. The constants are in the order of Compare.
type kind uint8

const (
	absentKind kind = iota
	nullKind
	falseKind
	trueKind
	numericKind
	stringKind
	listKind
	objectKind
	otherKind
)

func (m Mode) kindOf(v any) kind {
	if m.IsAbsent(v) {
		return absentKind
	}
	switch v := v.(type) {
	case nil:
		return nullKind
	case bool:
		if v {
			return trueKind
		}
		return falseKind
	case string:
		return stringKind
	case []any:
		return listKind
	case map[string]any:
		return objectKind
	}
	if _, ok := numberOf(v); ok {
		return numericKind
	}
	return otherKind
}

// compareObjects compares the smallest keys of both objects, then the values of
// that key, then the next keys.
func (m Mode) compareObjects(a, b map[string]any) int {
	namesA, namesB := m.presentNames(a), m.presentNames(b)
	for i := range min(len(namesA), len(namesB)) {
		if order := strings.Compare(namesA[i], namesB[i]); order != 0 {
			return order
		}
		if order := m.Compare(a[namesA[i]], b[namesB[i]]); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(namesA), len(namesB))
}

// presentNames returns the sorted keys of an object, without those that have an absent
// value.
func (m Mode) presentNames(object map[string]any) []string {
	names := slices.Sorted(maps.Keys(object))
	if m == Strict {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool { return m.IsAbsent(object[name]) })
}

package views

import (
	"maps"
	"reflect"
)

// same reports whether two values of one type are equal, like reflect.DeepEqual. It takes
// half the time: API objects are trees, so it does not have to track visited pointers.
func same(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.Struct:
		for i := range x.NumField() {
			if !same(x.Field(i), y.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if x.IsNil() || y.IsNil() || x.UnsafePointer() == y.UnsafePointer() {
			return x.UnsafePointer() == y.UnsafePointer()
		}
		return same(x.Elem(), y.Elem())
	case reflect.Slice:
		return sameItems(x, y)
	case reflect.Map:
		return sameEntries(x, y)
	case reflect.Interface:
		if x.IsNil() || y.IsNil() {
			return x.IsNil() && y.IsNil()
		}
		return x.Elem().Type() == y.Elem().Type() && same(x.Elem(), y.Elem())
	case reflect.String:
		return x.String() == y.String()
	case reflect.Bool:
		return x.Bool() == y.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return x.Int() == y.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return x.Uint() == y.Uint()
	case reflect.Float32, reflect.Float64:
		return x.Float() == y.Float()
	}
	// Other kinds count as different; package ownership then compares their content.
	return false
}

func sameItems(x, y reflect.Value) bool {
	if x.IsNil() != y.IsNil() || x.Len() != y.Len() {
		return false
	}
	for i := range x.Len() {
		if !same(x.Index(i), y.Index(i)) {
			return false
		}
	}
	return true
}

func sameEntries(x, y reflect.Value) bool {
	if x.IsNil() != y.IsNil() || x.Len() != y.Len() {
		return false
	}
	if texts, ok := asTexts(x); ok {
		others, _ := asTexts(y)
		return maps.Equal(texts, others)
	}
	for entries := x.MapRange(); entries.Next(); {
		other := y.MapIndex(entries.Key())
		if !other.IsValid() || !same(entries.Value(), other) {
			return false
		}
	}
	return true
}

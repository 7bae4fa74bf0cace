package sharing

import (
	"bytes"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// share replaces the parts of obj that are equal to those of earlier, and reports whether all of it is. Two parts are equal if
// reflect.DeepEqual says so. Both values have the same type and are addressable.
func (s *structs) share(obj, earlier reflect.Value) bool {
	switch obj.Kind() {
	case reflect.Struct:
		return s.shareStruct(obj, earlier)
	case reflect.Slice:
		return s.shareSlice(obj, earlier)
	case reflect.Pointer:
		if obj.IsNil() || earlier.IsNil() {
			return obj.IsNil() && earlier.IsNil()
		}
		return obj.UnsafePointer() == earlier.UnsafePointer() || take(obj, earlier, s.share(obj.Elem(), earlier.Elem()))
	case reflect.String:
		return take(obj, earlier, obj.String() == earlier.String())
	case reflect.Map:
		return shareMap(obj, earlier)
	case reflect.Interface:
		return take(obj, earlier, reflect.DeepEqual(obj.Interface(), earlier.Interface()))
	default:
		return obj.Equal(earlier) // a number or a boolean
	}
}

// take replaces obj by earlier if they are equal.
func take(obj, earlier reflect.Value, equal bool) bool {
	if equal {
		obj.Set(earlier)
	}
	return equal
}

func (s *structs) shareSlice(obj, earlier reflect.Value) bool {
	if obj.IsNil() || earlier.IsNil() {
		return obj.IsNil() && earlier.IsNil()
	}
	if obj.Type() == quantities {
		return false
	}
	equal := obj.Len() == earlier.Len()
	if obj.Type().Elem().Kind() == reflect.Uint8 {
		return take(obj, earlier, equal && string(obj.Bytes()) == string(earlier.Bytes()))
	}
	for i := range min(obj.Len(), earlier.Len()) {
		if !s.share(obj.Index(i), earlier.Index(i)) {
			equal = false
		}
	}
	return take(obj, earlier, equal)
}

// shareMap shares a map, or else the keys and the equal values of labels, annotations and data.
func shareMap(obj, earlier reflect.Value) bool {
	switch m := obj.Interface().(type) {
	case map[string]string:
		return take(obj, earlier, shareEntries(m, earlier.Interface().(map[string]string), func(a, b string) bool { return a == b }))
	case map[string][]byte:
		return take(obj, earlier, shareEntries(m, earlier.Interface().(map[string][]byte), func(a, b []byte) bool {
			return (a == nil) == (b == nil) && bytes.Equal(a, b)
		}))
	default:
		return take(obj, earlier, reflect.DeepEqual(m, earlier.Interface()))
	}
}

// shareEntries replaces the keys and the equal values of a map, and reports whether both maps have the same entries.
func shareEntries[V any](obj, earlier map[string]V, equal func(a, b V) bool) bool {
	same := len(obj) == len(earlier) && (obj == nil) == (earlier == nil)
	for key, known := range earlier {
		value, ok := obj[key]
		if !ok {
			same = false
			continue
		}
		if equal(value, known) {
			value = known
		} else {
			same = false
		}
		obj[key] = value // also replaces the text of the key
	}
	return same
}

func (s *structs) shareStruct(obj, earlier reflect.Value) bool {
	if !s.areExported(obj.Type()) {
		return reflect.DeepEqual(obj.Addr().Interface(), earlier.Addr().Interface())
	}
	equal := true
	for i := range obj.NumField() {
		if !s.share(obj.Field(i), earlier.Field(i)) {
			equal = false
		}
	}
	return equal
}

// quantities are not shared: the program that encodes a list of them may write the text of each into it.
var quantities = reflect.TypeFor[[]resource.Quantity]()

// structs remembers of each type of structs whether all its fields are exported. Package reflect sets no other fields.
type structs struct{ exported sync.Map }

func (s *structs) areExported(of reflect.Type) bool {
	if known, ok := s.exported.Load(of); ok {
		return known == true
	}
	all := true
	for i := range of.NumField() {
		all = all && of.Field(i).IsExported()
	}
	s.exported.Store(of, all)
	return all
}

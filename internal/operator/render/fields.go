package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/native"
)

// builtIn is the scheme of the built-in kinds. It is built once and never changed.
var builtIn = sync.OnceValue(native.NewPublishedScheme)

// DropUnknown removes the fields of an object that its kind does not have, and returns their
// paths. KUDO's packages contain such fields, and KUDO's way to write objects drops them. A
// server refuses them in server-side apply. An object of any other than a built-in kind is not
// changed.
func DropUnknown(object *unstructured.Unstructured) []string {
	typed, err := builtIn().New(object.GroupVersionKind())
	if err != nil {
		return nil
	}
	var dropped []string
	dropUnknown(object.Object, reflect.TypeOf(typed), "", &dropped)
	return dropped
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// dropUnknown removes the unknown fields of a value with a Go type. It does not look into types
// that decode themselves, such as Quantity.
func dropUnknown(value any, typ reflect.Type, path string, dropped *[]string) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if reflect.PointerTo(typ).Implements(unmarshaler) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			below := strings.TrimPrefix(path+"."+name, ".")
			if inner := fieldType(typ, name); inner != nil {
				dropUnknown(value[name], inner, below, dropped)
			} else if typ.Kind() == reflect.Struct {
				delete(value, name)
				*dropped = append(*dropped, below)
			}
		}
	case []any:
		for i, item := range value {
			if typ.Kind() == reflect.Slice {
				dropUnknown(item, typ.Elem(), fmt.Sprintf("%s[%d]", path, i), dropped)
			}
		}
	}
}

// fieldType returns the type of a field of a struct, by its name in JSON, or of the values of a
// map; nil if there is none.
func fieldType(typ reflect.Type, name string) reflect.Type {
	switch typ.Kind() {
	case reflect.Map:
		return typ.Elem()
	case reflect.Struct:
	default:
		return nil
	}
	for i := range typ.NumField() {
		field := typ.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name && tag != "" {
			return field.Type
		}
		if field.Anonymous && tag == "" {
			if inner := fieldType(field.Type, name); inner != nil {
				return inner
			}
		}
	}
	return nil
}

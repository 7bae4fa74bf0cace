package views

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Differing returns the content of two objects of the same type without the fields that are
// equal in both. It always includes name, namespace, UID and the annotations about ownership.
// This is enough to check an update, and much faster than Content, because most updates
// change little. A list, a map or a value with its own JSON encoding is included as a whole.
func Differing(live, updated runtime.Object) (liveContent, updatedContent map[string]any, err error) {
	oldMeta, err := meta.Accessor(live)
	if err != nil {
		return nil, nil, err
	}
	newMeta, err := meta.Accessor(updated)
	if err != nil {
		return nil, nil, err
	}
	liveContent, updatedContent = map[string]any{}, map[string]any{}
	old, updatedValue := reflect.ValueOf(live).Elem(), reflect.ValueOf(updated).Elem()
	for _, field := range value.TypeReflectEntryOf(old.Type()).OrderedFields() {
		switch field.JsonName {
		case "apiVersion", "kind", "metadata", "status":
			continue
		}
		if err := differ(field, places{old, liveContent}, places{updatedValue, updatedContent}); err != nil {
			return nil, nil, err
		}
	}
	liveContent["metadata"], updatedContent["metadata"], err = differingMetadata(oldMeta, newMeta)
	return liveContent, updatedContent, err
}

// places has the struct that a field is read from, and the map that its content is written to.
type places struct {
	from reflect.Value
	to   map[string]any
}

// differ adds a field to the content of both objects if it differs. Of a struct, it adds
// only the fields that differ.
func differ(field *value.FieldCacheEntry, a, b places) error {
	x, y := field.GetFrom(a.from), field.GetFrom(b.from)
	if same(x, y) {
		return nil
	}
	if inX, inY, ok := both(x, y); ok {
		oldContent, newContent := map[string]any{}, map[string]any{}
		a.to[field.JsonName], b.to[field.JsonName] = oldContent, newContent
		for _, below := range value.TypeReflectEntryOf(inX.Type()).OrderedFields() {
			if err := differ(below, places{inX, oldContent}, places{inY, newContent}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := put(field, x, a.to); err != nil {
		return err
	}
	return put(field, y, b.to)
}

// both returns two structs, or the structs that two pointers point to. ok is false if the
// values are no structs, one is missing, or the type has its own JSON encoding.
func both(x, y reflect.Value) (inX, inY reflect.Value, ok bool) {
	if x.Kind() == reflect.Pointer {
		if x.IsNil() || y.IsNil() {
			return x, y, false
		}
		x, y = x.Elem(), y.Elem()
	}
	return x, y, x.Kind() == reflect.Struct && !value.TypeReflectEntryOf(x.Type()).CanConvertToUnstructured()
}

// put encodes a whole field.
func put(field *value.FieldCacheEntry, x reflect.Value, content map[string]any) error {
	if field.CanOmit(x) {
		return nil
	}
	if texts, ok := asTexts(x); ok {
		content[field.JsonName] = toAny(texts)
		return nil
	}
	if x.Kind() != reflect.Pointer {
		fresh := reflect.New(x.Type())
		fresh.Elem().Set(x)
		x = fresh
	}
	encoded, err := value.NewValueReflect(x.Interface())
	if err != nil {
		return err
	}
	content[field.JsonName] = encoded.Unstructured()
	return nil
}

package views

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Content converts an object for package ownership. It leaves out status and managed
// fields, which are not checked and would cost more than everything else.
func Content(obj runtime.Object) (map[string]any, error) {
	bare := shallowCopy(obj)
	if status := bare.Elem().FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	accessor, err := meta.Accessor(bare.Interface())
	if err != nil {
		return nil, err
	}
	accessor.SetManagedFields(nil)
	large := takeTexts(bare.Elem())
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(bare.Interface())
	if err != nil {
		return nil, err
	}
	for name, texts := range large {
		content[name] = toAny(texts)
	}
	return content, nil
}

// largeTexts is the number of entries from which a map of texts is converted here: the
// converter of Kubernetes takes several times as long.
const largeTexts = 64

// takeTexts removes the large maps of texts, such as the data of a ConfigMap, from an object
// and returns them by their JSON names.
func takeTexts(obj reflect.Value) map[string]map[string]string {
	var large map[string]map[string]string
	for _, field := range value.TypeReflectEntryOf(obj.Type()).OrderedFields() {
		at := field.GetFrom(obj)
		texts, ok := asTexts(at)
		if !ok || len(texts) < largeTexts || !at.CanSet() {
			continue
		}
		if large == nil {
			large = map[string]map[string]string{}
		}
		large[field.JsonName] = texts
		at.SetZero()
	}
	return large
}

// asTexts returns the value of a field that is a map of texts.
func asTexts(field reflect.Value) (texts map[string]string, ok bool) {
	if field.Kind() != reflect.Map || !field.CanInterface() {
		return nil, false
	}
	texts, ok = field.Interface().(map[string]string)
	return texts, ok
}

// toAny returns a map of texts as JSON decoding gives it.
func toAny(texts map[string]string) map[string]any {
	out := make(map[string]any, len(texts))
	for key, text := range texts {
		out[key] = text
	}
	return out
}

// shallowCopy returns a pointer to a copy of the object. The copy shares everything that the
// object points to.
func shallowCopy(obj any) reflect.Value {
	bare := reflect.New(reflect.TypeOf(obj).Elem())
	bare.Elem().Set(reflect.ValueOf(obj).Elem())
	return bare
}

package views

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Content is an object as package ownership takes it: without status and managed
// fields, which are not judged and cost more than all the rest.
func Content(obj runtime.Object) (map[string]any, error) {
	bare, err := withoutStatus(obj)
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(bare.Interface())
}

// Differing is the content of two objects without what is equal in both, but for
// their metadata. It is enough to judge what an update changes, and several times
// faster: most writes change little.
func Differing(live, updated runtime.Object) (liveContent, updatedContent map[string]any, err error) {
	a, err := withoutStatus(live)
	if err != nil {
		return nil, nil, err
	}
	b, err := withoutStatus(updated)
	if err != nil {
		return nil, nil, err
	}
	for i := range a.Elem().NumField() {
		if a.Elem().Type().Field(i).Name != "ObjectMeta" {
			thin(a.Elem().Field(i), b.Elem().Field(i))
		}
	}
	if liveContent, err = runtime.DefaultUnstructuredConverter.ToUnstructured(a.Interface()); err != nil {
		return nil, nil, err
	}
	updatedContent, err = runtime.DefaultUnstructuredConverter.ToUnstructured(b.Interface())
	return liveContent, updatedContent, err
}

// withoutStatus is a shallow copy of an object.
func withoutStatus(obj runtime.Object) (reflect.Value, error) {
	bare := reflect.New(reflect.TypeOf(obj).Elem())
	bare.Elem().Set(reflect.ValueOf(obj).Elem())
	if status := bare.Elem().FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	accessor, err := meta.Accessor(bare.Interface())
	if err != nil {
		return bare, err
	}
	accessor.SetManagedFields(nil)
	return bare, nil
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// thin zeroes what is equal in two values of one type. Both are copies; what they
// point to is copied before it changes.
func thin(a, b reflect.Value) {
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		a.SetZero()
		b.SetZero()
		return
	}
	t := a.Type()
	if t.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil() && isPlain(t.Elem()) {
		thinPointed(a)
		thinPointed(b)
		a, b, t = a.Elem(), b.Elem(), t.Elem()
	}
	if !isPlain(t) {
		return
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			thin(a.Field(i), b.Field(i))
		}
	}
}

// thinPointed makes a pointer point to a copy.
func thinPointed(p reflect.Value) {
	fresh := reflect.New(p.Type().Elem())
	fresh.Elem().Set(p.Elem())
	p.Set(fresh)
}

// isPlain says whether a type is encoded field by field.
func isPlain(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !t.Implements(marshaler) && !reflect.PointerTo(t).Implements(marshaler)
}

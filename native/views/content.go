package views

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Content is an object as package ownership takes it: without status and managed
// fields, which are not judged and cost more than all the rest.
func Content(obj runtime.Object) (map[string]any, error) {
	bare := shallow(obj)
	if status := bare.Elem().FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	accessor, err := meta.Accessor(bare.Interface())
	if err != nil {
		return nil, err
	}
	accessor.SetManagedFields(nil)
	return runtime.DefaultUnstructuredConverter.ToUnstructured(bare.Interface())
}

// shallow is a pointer to a copy that shares what the object points to.
func shallow(obj any) reflect.Value {
	bare := reflect.New(reflect.TypeOf(obj).Elem())
	bare.Elem().Set(reflect.ValueOf(obj).Elem())
	return bare
}

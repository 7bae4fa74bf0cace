package views

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
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
	return runtime.DefaultUnstructuredConverter.ToUnstructured(bare.Interface())
}

// shallowCopy returns a pointer to a copy of the object. The copy shares everything that the
// object points to.
func shallowCopy(obj any) reflect.Value {
	bare := reflect.New(reflect.TypeOf(obj).Elem())
	bare.Elem().Set(reflect.ValueOf(obj).Elem())
	return bare
}

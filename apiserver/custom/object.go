package custom

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// object is what represents a custom resource between the socket and the store.
// The rest of the package knows it by this name.
type object = unstructured.Unstructured

// objectList is a list of them.
type objectList = unstructured.UnstructuredList

// newObject makes an empty object of a kind.
func newObject(gvk runtimeKind) *object {
	obj := &object{}
	obj.SetGroupVersionKind(gvk)
	return obj
}

// newObjectList makes an empty list of a kind.
func newObjectList(gvk runtimeKind) *objectList {
	list := &objectList{}
	list.SetGroupVersionKind(gvk)
	return list
}

// content is an object of a store, which holds no others.
func content(obj runtime.Object) *object {
	if u, ok := obj.(*object); ok {
		return u
	}
	return &object{Object: map[string]any{}}
}

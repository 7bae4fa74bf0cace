package custom

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// object is the representation of a custom resource in memory. The other files of the
// package use only this name, so that the representation can be replaced.
type object = unstructured.Unstructured

// objectList is a list of objects.
type objectList = unstructured.UnstructuredList

// newObject creates an empty object of a kind.
func newObject(gvk runtimeKind) *object {
	obj := &object{}
	obj.SetGroupVersionKind(gvk)
	return obj
}

// newObjectList creates an empty list of a kind.
func newObjectList(gvk runtimeKind) *objectList {
	list := &objectList{}
	list.SetGroupVersionKind(gvk)
	return list
}

// content returns an object of a store in its own type. A store holds no other types.
func content(obj runtime.Object) *object {
	if u, ok := obj.(*object); ok {
		return u
	}
	return &object{Object: map[string]any{}}
}

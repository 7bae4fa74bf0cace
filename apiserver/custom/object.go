package custom

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
)

// object is the representation of a custom resource in memory. The other files of the
// package use only this name, so that the representation can be replaced.
//
// It is an Unstructured, except for the methods that are expensive there. A copy of an
// object shares the values of the object, see DeepCopyObject. The managed fields are
// converted without reflection, see GetManagedFields.
type object struct {
	unstructured.Unstructured
	// unseen are the marked values of the stored object that the version of this object does
	// not have, see version.unseenOf. They are not part of the content.
	unseen *immutability.Unseen
	// sets caches the sets of the managed fields. It may be nil.
	sets *fieldSets
	// valid is the version whose schema the whole object is known to fit. Validation of a write
	// sets it. An object that is read from storage has it if the write was recent, see trees.
	valid *version
}

var _ runtime.Unstructured = &object{}

// newObject creates an empty object of a kind.
func newObject(gvk runtimeKind) *object {
	obj := &object{}
	obj.SetGroupVersionKind(gvk)
	return obj
}

// objectOf returns an object with a content. The object does not copy the content.
func objectOf(content map[string]any) *object {
	return &object{Unstructured: unstructured.Unstructured{Object: content}}
}

// DeepCopyObject implements runtime.Object. The copy has its own maps for the object and for
// its metadata, and shares all other values. No code may change these in place, see trees.
func (o *object) DeepCopyObject() runtime.Object {
	out := objectOf(share(o.Object))
	out.unseen, out.sets, out.valid = o.unseen, o.sets, o.valid
	return out
}

// whole returns the object with the values that its version does not have.
func (o *object) whole() *object {
	if o.unseen == nil {
		return o
	}
	return objectOf(o.unseen.Restore(o.Object))
}

// NewEmptyInstance implements runtime.Unstructured.
func (o *object) NewEmptyInstance() runtime.Unstructured { return newObject(o.GroupVersionKind()) }

// content returns an object of a store in its own type. A store holds no other types.
func content(obj runtime.Object) *object {
	switch obj := obj.(type) {
	case *object:
		return obj
	case *unstructured.Unstructured:
		return objectOf(obj.Object)
	}
	return objectOf(map[string]any{})
}

// plain returns an object, or a list of objects, in the type that the libraries know. A
// change of the plain object changes the object too. The plain list is a copy that shares
// the objects.
func plain(obj runtime.Object) runtime.Object {
	switch obj := obj.(type) {
	case *object:
		return &obj.Unstructured
	case *objectList:
		return obj.plain()
	}
	return obj
}

// own is the reverse of plain.
func own(obj runtime.Object) runtime.Object {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return objectOf(obj.Object)
	case *unstructured.UnstructuredList:
		return ownList(obj)
	}
	return obj
}

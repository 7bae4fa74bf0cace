package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/internal/definition"
)

// Object is a custom resource: an Unstructured, except for the methods that are expensive there, and what the server knows about it
// besides its content. The managed fields are converted without reflection, see GetManagedFields.
type Object struct {
	unstructured.Unstructured
	// Unseen are the marked values of the stored object that the version of this object does not have. They are not part of the
	// content.
	Unseen *immutability.Unseen
	// Sets keeps the sets of the managed fields. It may be nil.
	Sets *fieldset.Sets
	// Valid is the definition that the whole object is known to fit. Validation of a write sets it. An object that is read from
	// storage has it if the write was recent, see package kept.
	Valid *definition.Compiled
}

var _ runtime.Unstructured = &Object{}

// New creates an empty object of a kind.
func New(gvk schema.GroupVersionKind) *Object {
	obj := &Object{}
	obj.SetGroupVersionKind(gvk)
	return obj
}

// Of returns an object with a content. The object does not copy the content.
func Of(content map[string]any) *Object {
	return &Object{Unstructured: unstructured.Unstructured{Object: content}}
}

// DeepCopyObject implements runtime.Object. In the quick form, the copy shares values with the object, see Share.
func (o *Object) DeepCopyObject() runtime.Object { return o.Copy() }

// Copy is DeepCopyObject.
func (o *Object) Copy() *Object {
	out := Of(copyOf(o.Object))
	out.Unseen, out.Sets, out.Valid = o.Unseen, o.Sets, o.Valid
	return out
}

// Share returns a copy of a content with maps of its own for the object and its metadata. It shares all other values, so no code may
// change these in place. The setters of metav1.Object and the strategies change only the two maps.
func Share(content map[string]any) map[string]any {
	out := maps.Clone(content)
	if metadata, ok := out["metadata"].(map[string]any); ok {
		out["metadata"] = maps.Clone(metadata)
	}
	return out
}

// Whole returns the object with the values that its version does not have.
func (o *Object) Whole() *Object {
	if o.Unseen == nil {
		return o
	}
	return Of(o.Unseen.Restore(o.Object))
}

// NewEmptyInstance implements runtime.Unstructured.
func (o *Object) NewEmptyInstance() runtime.Unstructured { return New(o.GroupVersionKind()) }

// From returns an object of a store in its own type. A store holds no other types.
func From(obj runtime.Object) *Object {
	switch obj := obj.(type) {
	case *Object:
		return obj
	case *unstructured.Unstructured:
		return Of(obj.Object)
	}
	return Of(map[string]any{})
}

// AsUnstructured returns an object, or a list of objects, in the type that the libraries know. A change of the result changes the object
// too. The list is a copy that shares the objects.
func AsUnstructured(obj runtime.Object) runtime.Object {
	switch obj := obj.(type) {
	case *Object:
		return &obj.Unstructured
	case *List:
		return obj.plain()
	}
	return obj
}

// FromUnstructured is the reverse of AsUnstructured.
func FromUnstructured(obj runtime.Object) runtime.Object {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return Of(obj.Object)
	case *unstructured.UnstructuredList:
		return ownList(obj)
	}
	return obj
}

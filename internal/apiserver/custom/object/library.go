package object

import (
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Typer tells the library the kinds of custom resources and of the options in requests.
type Typer struct{ options, objects runtime.ObjectTyper }

// NewTyper returns a typer. It asks options for the kinds of all objects that are not custom resources.
func NewTyper(options runtime.ObjectTyper) Typer {
	return Typer{options: options, objects: crdserverscheme.NewUnstructuredObjectTyper()}
}

// ObjectKinds implements runtime.ObjectTyper.
func (t Typer) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if _, ok := obj.(runtime.Unstructured); ok {
		return t.objects.ObjectKinds(obj)
	}
	return t.options.ObjectKinds(obj)
}

// Recognizes implements runtime.ObjectTyper.
func (t Typer) Recognizes(gvk schema.GroupVersionKind) bool {
	return t.options.Recognizes(gvk) || t.objects.Recognizes(gvk)
}

// Creater creates empty objects of any kind for the library.
type Creater struct{}

// New implements runtime.ObjectCreater.
func (Creater) New(gvk schema.GroupVersionKind) (runtime.Object, error) { return New(gvk), nil }

package write

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"holdfast.dev/holdfast/apiserver/custom/object"
)

// NewAdmission wraps admission plugins. They get custom resources as Unstructured objects, and their annotations go to the audit log. A
// plugin may replace top-level fields of an object and fields of its metadata. It changes nothing below them in place: copies of an
// object share these values.
func NewAdmission(plugins admission.Interface) admission.Interface {
	return admission.WithAudit(chain{plugins})
}

type chain struct{ plugins admission.Interface }

var (
	_ admission.MutationInterface   = chain{}
	_ admission.ValidationInterface = chain{}
)

// Handles implements admission.Interface.
func (c chain) Handles(operation admission.Operation) bool {
	return c.plugins != nil && c.plugins.Handles(operation)
}

// Admit implements admission.MutationInterface.
func (c chain) Admit(ctx context.Context, a admission.Attributes, interfaces admission.ObjectInterfaces) error {
	plugins, ok := c.plugins.(admission.MutationInterface)
	if !ok {
		return nil
	}
	return plugins.Admit(ctx, newAttributes(a), interfaces)
}

// Validate implements admission.ValidationInterface.
func (c chain) Validate(ctx context.Context, a admission.Attributes, interfaces admission.ObjectInterfaces) error {
	plugins, ok := c.plugins.(admission.ValidationInterface)
	if !ok {
		return nil
	}
	return plugins.Validate(ctx, newAttributes(a), interfaces)
}

// unstructuredAttributes shows the objects of a request to plugins in the type that they know.
type unstructuredAttributes struct {
	admission.Attributes
	obj, oldObj runtime.Object
}

func newAttributes(a admission.Attributes) unstructuredAttributes {
	return unstructuredAttributes{Attributes: a, obj: object.AsUnstructured(a.GetObject()), oldObj: object.AsUnstructured(a.GetOldObject())}
}

// GetObject implements admission.Attributes. If a plugin changes the object, it changes the object of the request.
func (a unstructuredAttributes) GetObject() runtime.Object { return a.obj }

// GetOldObject implements admission.Attributes.
func (a unstructuredAttributes) GetOldObject() runtime.Object { return a.oldObj }

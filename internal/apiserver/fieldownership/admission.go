package fieldownership

import (
	"context"

	"k8s.io/apiserver/pkg/admission"

	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// editRecorder records the object of an edit before the admission plugins change it. An
// edit is therefore not refused because of a field that only a webhook changed.
type editRecorder struct{ admission.Interface }

var (
	_ admission.MutationInterface   = editRecorder{}
	_ admission.ValidationInterface = editRecorder{}
)

// Admission wraps the admission of the server.
func (c *Checker) Admission(next admission.Interface) admission.Interface {
	if c == nil {
		return next
	}
	return editRecorder{next}
}

// Handles implements admission.Interface: every operation passes through here.
func (editRecorder) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (e editRecorder) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	r := requestFrom(ctx)
	if r != nil && r.writer.Act == ownership.Edit && a.GetSubresource() == "" && a.GetOperation() == admission.Update {
		edited := a.GetObject().DeepCopyObject()
		views.MergeStringData(edited)
		r.recordEdited(edited)
	}
	next, ok := e.Interface.(admission.MutationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	return next.Admit(ctx, a, o)
}

// Validate implements admission.ValidationInterface.
func (e editRecorder) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	next, ok := e.Interface.(admission.ValidationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	return next.Validate(ctx, a, o)
}

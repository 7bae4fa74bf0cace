package plugins

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"holdfast.dev/holdfast/internal/apiserver/requestbody"
	"holdfast.dev/holdfast/internal/nesting"
)

// nestingAdmission rejects objects with too many levels that the check of request bodies cannot
// find: the result of a JSON patch, and objects that plugins or webhooks changed. An object that
// was stored with too many levels can be updated, but not with more levels than it has.
type nestingAdmission struct{ admission.Interface }

var (
	_ admission.MutationInterface   = nestingAdmission{}
	_ admission.ValidationInterface = nestingAdmission{}
)

// Handles implements admission.Interface.
func (nestingAdmission) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (n nestingAdmission) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if err := checkLevels(a); err != nil {
		return err
	}
	next, ok := n.Interface.(admission.MutationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	if err := next.Admit(ctx, a, o); err != nil {
		return err
	}
	return checkLevels(a)
}

// Validate implements admission.ValidationInterface.
func (n nestingAdmission) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	next, ok := n.Interface.(admission.ValidationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	return next.Validate(ctx, a, o)
}

func checkLevels(a admission.Attributes) error {
	if a.GetObject() == nil {
		return nil
	}
	found := requestbody.Levels(a.GetObject())
	if found <= nesting.Limit || a.GetOldObject() != nil && found <= requestbody.Levels(a.GetOldObject()) {
		return nil
	}
	return apierrors.NewBadRequest(nesting.Error{What: "the object"}.Error())
}

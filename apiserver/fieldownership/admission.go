package fieldownership

import (
	"context"

	"k8s.io/apiserver/pkg/admission"

	"holdfast.dev/holdfast/ownership"
)

// keeper keeps what a person edited, as it is before admission changes it: nobody
// is refused for what a webhook did.
type keeper struct{ admission.Interface }

var (
	_ admission.MutationInterface   = keeper{}
	_ admission.ValidationInterface = keeper{}
)

// Admission stands around the server's admission.
func (c *Checker) Admission(next admission.Interface) admission.Interface {
	if c == nil {
		return next
	}
	return keeper{next}
}

// Handles implements admission.Interface: mutation is always passed through
// here.
func (keeper) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (k keeper) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	try := attemptOf(ctx)
	if try != nil && try.writer.Act == ownership.Edit && a.GetSubresource() == "" && a.GetOperation() == admission.Update {
		try.person = a.GetObject().DeepCopyObject()
	}
	next, ok := k.Interface.(admission.MutationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	return next.Admit(ctx, a, o)
}

// Validate implements admission.ValidationInterface.
func (k keeper) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	next, ok := k.Interface.(admission.ValidationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	return next.Validate(ctx, a, o)
}

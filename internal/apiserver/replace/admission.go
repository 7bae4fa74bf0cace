package replace

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/replacement"
)

// Admission returns admission that asks whether the old object of a replacement may be deleted, before it asks about the new one.
func (*Replacer) Admission(next admission.Interface) admission.Interface { return chain{next} }

type chain struct{ admission.Interface }

var (
	_ admission.MutationInterface   = chain{}
	_ admission.ValidationInterface = chain{}
)

// Handles implements admission.Interface: every operation passes through here.
func (chain) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (c chain) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if swap := swapOf(ctx, a); swap != nil {
		if err := c.admitDeletion(ctx, swap, a, o); err != nil {
			return err
		}
		created, err := meta.Accessor(a.GetObject())
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		// They named the old object. A new object has neither, and the plugins see it as in every create.
		created.SetUID("")
		created.SetResourceVersion("")
	}
	next, ok := c.Interface.(admission.MutationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	return next.Admit(ctx, a, o)
}

// Validate implements admission.ValidationInterface.
func (c chain) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if swap := swapOf(ctx, a); swap != nil {
		// Otherwise the object of another name would be created, and the old object would stay.
		if err := checkName(swap, a); err != nil {
			return err
		}
	}
	next, ok := c.Interface.(admission.ValidationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	return next.Validate(ctx, a, o)
}

// swapOf returns the swap of a request if the attributes are those of its new object.
func swapOf(ctx context.Context, a admission.Attributes) *replacement.Swap {
	swap := replacement.From(ctx)
	if swap == nil || a.GetOperation() != admission.Create || a.GetSubresource() != "" || a.GetResource().GroupResource() != swap.Resource {
		return nil
	}
	return swap
}

// checkName returns an error if the new object has another name or namespace than the old one, after a mutating webhook has changed it.
func checkName(swap *replacement.Swap, a admission.Attributes) error {
	old, err := meta.Accessor(swap.Old)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	created, err := meta.Accessor(a.GetObject())
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if created.GetName() != old.GetName() || created.GetNamespace() != old.GetNamespace() {
		return apierrors.NewBadRequest(fmt.Sprintf("the new object has the name %s/%s, and the object that it replaces %s/%s",
			created.GetNamespace(), created.GetName(), old.GetNamespace(), old.GetName()))
	}
	return nil
}

// admitDeletion asks the plugins and webhooks whether the old object may be deleted. They see a deletion like any other.
func (c chain) admitDeletion(ctx context.Context, swap *replacement.Swap, a admission.Attributes, o admission.ObjectInterfaces) error {
	old, err := meta.Accessor(swap.Old)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	uid, version := old.GetUID(), old.GetResourceVersion()
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
	if swap.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	deletion := admission.NewAttributesRecord(nil, nil, a.GetKind(), old.GetNamespace(), old.GetName(), a.GetResource(), "",
		admission.Delete, options, swap.DryRun, a.GetUserInfo())
	return rest.AdmissionToValidateObjectDeleteFunc(admission.WithAudit(c.Interface), deletion, o)(ctx, swap.Old)
}

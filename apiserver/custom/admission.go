package custom

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"holdfast.dev/holdfast/skeleton"
)

// gate stands around mutating admission, where every write passes with the old
// object at hand: it checks the types of a new object before anybody sees it,
// and prunes and completes it again when webhooks are done with it.
type gate struct {
	version  *version
	delegate admission.Interface
}

var (
	_ admission.MutationInterface   = gate{}
	_ admission.ValidationInterface = gate{}
)

// Handles implements admission.Interface.
func (gate) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (g gate) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if a.GetOperation() == admission.Create && a.GetSubresource() == "" && g.version.resource.terminating.Load() {
		return refuseCreate(a)
	}
	obj, ok := a.GetObject().(*object)
	if ok {
		if err := g.version.checkTypes(obj, a); err != nil {
			return err
		}
		g.version.complete(obj.Object)
	}
	mutation, can := g.delegate.(admission.MutationInterface)
	if !can || !mutation.Handles(a.GetOperation()) {
		return nil
	}
	if err := mutation.Admit(ctx, a, o); err != nil {
		return err
	}
	if ok {
		if err := g.version.checkTypes(obj, a); err != nil {
			return err
		}
		g.version.complete(obj.Object)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (g gate) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	validation, ok := g.delegate.(admission.ValidationInterface)
	if !ok || !validation.Handles(a.GetOperation()) {
		return nil
	}
	return validation.Validate(ctx, a, o)
}

// checkTypes is the first step of validation: the basic types of what the schema
// specifies. Of an update only what changes is looked at, so that nothing in
// storage can keep an object from being changed or finalized.
func (v *version) checkTypes(obj *object, a admission.Attributes) error {
	var wrong []skeleton.WrongType
	if old, ok := a.GetOldObject().(*object); ok && a.GetOperation() == admission.Update {
		wrong = v.compiled.Skeleton.CheckUpdate(old.Object, obj.Object)
	} else {
		wrong = v.compiled.Skeleton.Check(obj.Object)
	}
	return v.wrongTypes(obj.GetName(), wrong)
}

func (v *version) wrongTypes(name string, wrong []skeleton.WrongType) error {
	if len(wrong) == 0 {
		return nil
	}
	var said []string
	var causes []metav1.StatusCause
	for _, w := range wrong {
		said = append(said, w.Error())
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: w.Path, Message: w.Error()})
	}
	err := apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled: %s", v.resource.kind.Kind, v.name, strings.Join(said, "; ")))
	err.ErrStatus.Details = &metav1.StatusDetails{Group: v.resource.kind.Group, Kind: v.resource.kind.Kind, Name: name, Causes: causes}
	return err
}

func refuseCreate(a admission.Attributes) error {
	err := apierrors.NewMethodNotSupported(a.GetResource().GroupResource(), "create")
	err.ErrStatus.Message = "create not allowed while custom resource definition is terminating"
	return err
}

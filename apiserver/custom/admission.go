package custom

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"holdfast.dev/holdfast/skeleton"
)

// objectAdmission wraps the admission chain of the server. It checks the types of the new
// object, prunes it and completes it, before and after mutating admission. The first time,
// plugins and webhooks get a valid object. The second time, the changes of plugins and
// webhooks are treated like those of the client. A plugin may replace the values of the
// object and of its metadata, and does not change any other value in place: copies of an
// object share them.
type objectAdmission struct {
	version  *version
	delegate admission.Interface
}

var (
	_ admission.MutationInterface   = objectAdmission{}
	_ admission.ValidationInterface = objectAdmission{}
)

// Handles implements admission.Interface.
func (objectAdmission) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (o objectAdmission) Admit(ctx context.Context, a admission.Attributes, interfaces admission.ObjectInterfaces) error {
	if a.GetOperation() == admission.Create && a.GetSubresource() == "" && o.version.resource.terminating.Load() {
		return refuseCreate(a)
	}
	obj, ok := a.GetObject().(*object)
	if ok {
		if err := o.version.checkTypes(obj, a); err != nil {
			return err
		}
		o.version.complete(obj.Object)
		o.version.normalizeOwners(obj.Object)
	}
	mutation, can := o.delegate.(admission.MutationInterface)
	if !can || !mutation.Handles(a.GetOperation()) {
		return nil
	}
	var before frozenContent
	if ok {
		before = freeze(obj.Object)
	}
	if err := mutation.Admit(ctx, newPlainAttributes(a), interfaces); err != nil {
		return err
	}
	before.check()
	if ok {
		if err := o.version.checkTypes(obj, a); err != nil {
			return err
		}
		o.version.complete(obj.Object)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (o objectAdmission) Validate(ctx context.Context, a admission.Attributes, interfaces admission.ObjectInterfaces) error {
	validation, ok := o.delegate.(admission.ValidationInterface)
	if !ok || !validation.Handles(a.GetOperation()) {
		return nil
	}
	return validation.Validate(ctx, newPlainAttributes(a), interfaces)
}

// plainAttributes shows the objects of a request to plugins in the type that they know.
type plainAttributes struct {
	admission.Attributes
	obj, oldObj runtime.Object
}

func newPlainAttributes(a admission.Attributes) plainAttributes {
	return plainAttributes{Attributes: a, obj: plain(a.GetObject()), oldObj: plain(a.GetOldObject())}
}

// GetObject implements admission.Attributes. If a plugin changes the object, it changes the
// object of the request.
func (a plainAttributes) GetObject() runtime.Object { return a.obj }

// GetOldObject implements admission.Attributes.
func (a plainAttributes) GetOldObject() runtime.Object { return a.oldObj }

// checkTypes checks the types of all values that the schema specifies. It is the first
// step of validation. For an update it checks only the values that change: an object
// that was stored with a wrong type can still be changed and finalized.
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
	var messages []string
	var causes []metav1.StatusCause
	for _, w := range wrong {
		messages = append(messages, w.Error())
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: w.Path, Message: w.Error()})
	}
	kind := v.resource.kind
	err := apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled: %s", kind.Kind, v.name, strings.Join(messages, "; ")))
	err.ErrStatus.Details = &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: name, Causes: causes}
	return err
}

func refuseCreate(a admission.Attributes) error {
	err := apierrors.NewMethodNotSupported(a.GetResource().GroupResource(), "create")
	err.ErrStatus.Message = "create not allowed while custom resource definition is terminating"
	return err
}

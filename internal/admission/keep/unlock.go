package keep

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/protection"
)

// Verb is what a user needs for an object to change or remove the annotation.
const Verb = "unlock"

func targetOf(resource schema.GroupResource, object metav1.Object) target {
	return target{resource: resource, namespace: object.GetNamespace(), name: object.GetName()}
}

// validateWrite refuses values that the annotation cannot have, and changes of the annotation without the verb. A stored value that is
// not valid keeps nothing: it may stay, change and go.
func (p *Plugin) validateWrite(ctx context.Context, a admission.Attributes) error {
	if !writesMetadata(a) {
		return nil
	}
	resource := a.GetResource().GroupResource()
	value, set := Value(a.GetObject())
	oldValue, wasSet := "", false
	if a.GetOperation() == admission.Update {
		oldValue, wasSet = Value(a.GetOldObject())
	}
	same := set == wasSet && value == oldValue
	if same && (a.GetOperation() != admission.Update || InForce(resource, a.GetOldObject()) == InForce(resource, a.GetObject())) {
		return nil
	}
	if set {
		if errs := validate(resource, value); len(errs) > 0 {
			return apierrors.NewInvalid(a.GetKind().GroupKind(), a.GetName(), errs)
		}
	}
	if a.GetOperation() != admission.Update || InForce(resource, a.GetOldObject()) == "" || p.mayUnlock(ctx, a) {
		return nil
	}
	protection.Refuse(ctx, protection.KeptObject, "metadata.annotations["+Annotation+"]")
	if same { // it becomes the ReplicaSet of a Deployment, on which the annotation has no effect
		return badRequest(a, metav1.StatusCause{
			Type: refusal.CauseTypeFieldImmutable, Field: "metadata.ownerReferences",
			Message: fmt.Sprintf("field is immutable: the annotation %s would have no effect on a ReplicaSet of a Deployment "+
				"(a user that may %s it can change it)", Annotation, Verb),
		})
	}
	return refuseChange(a, oldValue)
}

// writesMetadata reports whether a write can change the annotations of a stored object. A Scale has the metadata of its object, of
// which the server stores nothing. A Binding adds its annotations to the pod.
func writesMetadata(a admission.Attributes) bool {
	switch a.GetSubresource() {
	case "":
		return true
	case "scale":
		return false
	case "binding":
		return true
	}
	return a.GetOperation() == admission.Update
}

// refuseChange returns the answer to a change of the annotation without the verb.
func refuseChange(a admission.Attributes, oldValue string) error {
	change := fmt.Sprintf("removed %q", oldValue)
	if value, set := Value(a.GetObject()); set {
		change = fmt.Sprintf("changed from %q to %q", oldValue, value)
	}
	return badRequest(a, metav1.StatusCause{
		Type: refusal.CauseTypeFieldImmutable, Field: path.String(),
		Message: fmt.Sprintf("field is immutable: %s (a user that may %s it can change it)", change, Verb),
	})
}

func badRequest(a admission.Attributes, cause metav1.StatusCause) error {
	details := &metav1.StatusDetails{
		Group: a.GetKind().Group, Kind: a.GetKind().Kind, Name: a.GetName(), Causes: []metav1.StatusCause{cause},
	}
	if object, err := meta.Accessor(a.GetOldObject()); err == nil {
		details.UID = object.GetUID()
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Details: details,
		Message: fmt.Sprintf("%s %q cannot be changed this way: %s", a.GetKind().GroupKind(), a.GetName(), refusal.List(details.Causes)),
	}}
}

// mayUnlock reports whether the user has the verb for the object. As in the requests of Kubernetes, the namespace of a Namespace is
// itself.
func (p *Plugin) mayUnlock(ctx context.Context, a admission.Attributes) bool {
	u := a.GetUserInfo()
	if u == nil || isServer(u) {
		return false
	}
	resource, namespace := a.GetResource(), a.GetNamespace()
	if resource.GroupResource() == namespaces {
		namespace = a.GetName()
	}
	decision, _, err := p.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: u, Verb: Verb, Namespace: namespace, Name: a.GetName(), ResourceRequest: true,
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
	})
	return err == nil && decision == authorizer.DecisionAllow
}

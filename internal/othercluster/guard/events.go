package guard

import (
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/value"
)

// reasonWithoutEffect is the reason of an Event about a definition whose annotation has rules that our server would refuse.
const reasonWithoutEffect = "RuleWithoutEffect"

// maxEventBytes is the length of the message of an Event. Kubernetes allows 1024 bytes in newer Events.
const maxEventBytes = 1000

// events records Events about policies and definitions.
type events struct{ *policy.Events }

// record records an Event for each policy of a review. A dry run has no Event.
func (e *events) record(request *admissionv1.AdmissionRequest, hits []policy.Hit) {
	if e != nil && !isDryRun(request) {
		e.Record(objectOf(request), hits)
	}
}

// recordDeletion records an Event for each policy that forbids a deletion, or warns about it. A dry run has no Event.
func (e *events) recordDeletion(request *admissionv1.AdmissionRequest, by []keptResource) {
	for _, k := range by {
		if e != nil && k.Policy != "" && !isDryRun(request) {
			e.RecordDeletion(objectOf(request), k.Kept)
		}
	}
}

// recordDefinition records an Event about a definition that a client may not change. A dry run has no Event.
func (e *events) recordDefinition(request *admissionv1.AdmissionRequest, crd metav1.Object, places []string) {
	if e != nil && !isDryRun(request) {
		text := "refused an update of " + objectOf(request) + ": " + strings.Join(places, ", ")
		e.RecordRefusal(referenceTo(crd), value.CutBytes(text, maxEventBytes))
	}
}

// withoutEffect records an Event about a definition whose annotation has rules without effect.
func (e *events) withoutEffect(crd *metav1.PartialObjectMetadata, problems []string) {
	e.Recorder.Event(referenceTo(crd), corev1.EventTypeWarning, reasonWithoutEffect, value.CutBytes(strings.Join(problems, "; "), maxEventBytes))
}

// referenceTo returns the object of an Event about a definition.
func referenceTo(crd metav1.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: definitions().GroupVersion().String(), Kind: "CustomResourceDefinition", Name: crd.GetName(), UID: crd.GetUID(),
		ResourceVersion: crd.GetResourceVersion(),
	}
}

// resourceOf returns the resource of a review.
func resourceOf(request *admissionv1.AdmissionRequest) schema.GroupResource {
	return schema.GroupResource{Group: request.Resource.Group, Resource: request.Resource.Resource}
}

// objectOf names the object of a review: deployments.apps/scale shop/web.
func objectOf(request *admissionv1.AdmissionRequest) string {
	text := resourceOf(request).String()
	if request.SubResource != "" {
		text += "/" + request.SubResource
	}
	if request.Namespace != "" {
		return text + " " + request.Namespace + "/" + request.Name
	}
	return text + " " + request.Name
}

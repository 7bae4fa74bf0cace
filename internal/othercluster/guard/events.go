package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/value"
)

// The reasons of Events about policies and definitions.
const (
	// reasonRefused is the reason of an Event about an update that a rule of the policy refused.
	reasonRefused = "Refused"
	// reasonWarned is the reason of an Event about an update that a rule of the policy warned about.
	reasonWarned = "Warned"
	// reasonWithoutEffect is the reason of an Event about a definition whose annotation has rules that our server would refuse.
	reasonWithoutEffect = "RuleWithoutEffect"
)

const (
	// maxEventRules is the number of rules that an Event names.
	maxEventRules = 5
	// maxEventBytes is the length of the message of an Event. Kubernetes allows 1024 bytes in newer Events.
	maxEventBytes = 1000
)

// hit is an update that rules of a policy forbid.
type hit struct {
	policy string
	warns  bool
	found  []refusal.Violation
}

// events records Events about policies and definitions. The recorder of client-go bounds them: it counts equal Events in one object, combines
// similar ones, allows 25 at once for an object and then one in five minutes, and drops what waits too long.
type events struct {
	recorder record.EventRecorder
	// policies has the policies, by name.
	policies cache.Store
}

// newEvents returns a recorder of Events that ends with ctx.
func newEvents(ctx context.Context, client kubernetes.Interface, policies cache.Store) *events {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return &events{recorder: broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: Name}), policies: policies}
}

// record records an Event for each policy. It names the object and the rules, and neither values, keys of maps nor the user:
// users that may read Events may not read the object. A dry run has no Event.
func (e *events) record(request *admissionv1.AdmissionRequest, hits []hit) {
	if e == nil || request.DryRun != nil && *request.DryRun {
		return
	}
	for _, h := range hits {
		obj, known, err := e.policies.GetByKey(h.policy)
		policy, ok := obj.(*unstructured.Unstructured)
		if err != nil || !known || !ok {
			continue // the policy is deleted
		}
		about := &corev1.ObjectReference{
			APIVersion: policy.GetAPIVersion(), Kind: policy.GetKind(), Name: policy.GetName(), UID: policy.GetUID(),
			ResourceVersion: policy.GetResourceVersion(),
		}
		reason, verb := reasonRefused, "refused"
		if h.warns {
			reason, verb = reasonWarned, "warned about"
		}
		e.recorder.Event(about, corev1.EventTypeWarning, reason, fmt.Sprintf("%s an update of %s: %s", verb, objectOf(request), rulesOf(h.found)))
	}
}

// withoutEffect records an Event about a definition whose annotation has rules without effect.
func (e *events) withoutEffect(crd *metav1.PartialObjectMetadata, problems []string) {
	about := &corev1.ObjectReference{
		APIVersion: definitions().GroupVersion().String(), Kind: "CustomResourceDefinition", Name: crd.Name, UID: crd.UID,
		ResourceVersion: crd.ResourceVersion,
	}
	e.recorder.Event(about, corev1.EventTypeWarning, reasonWithoutEffect, value.CutBytes(strings.Join(problems, "; "), maxEventBytes))
}

// objectOf names the object of a review: deployments.apps/scale shop/web.
func objectOf(request *admissionv1.AdmissionRequest) string {
	text := request.Resource.Resource
	if request.Resource.Group != "" {
		text += "." + request.Resource.Group
	}
	if request.SubResource != "" {
		text += "/" + request.SubResource
	}
	if request.Namespace != "" {
		return text + " " + request.Namespace + "/" + request.Name
	}
	return text + " " + request.Name
}

// rulesOf returns the rules that violations break, each once.
func rulesOf(found []refusal.Violation) string {
	var rules []string
	for _, one := range found {
		rule := one.Marker.String() + " " + immutability.Field(one.SchemaPath)
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	if more := len(rules) - maxEventRules; more > 0 {
		rules = append(rules[:maxEventRules], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(rules, ", ")
}

package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/refusal"
)

// The reasons of Events about policies.
const (
	// reasonRefused is the reason of an Event about a write that a rule of the policy refused, or about a refused change of a definition.
	reasonRefused = "Refused"
	// reasonWarned is the reason of an Event about a write that a rule of the policy warned about.
	reasonWarned = "Warned"
)

// maxEventRules is the number of rules that an Event names.
const maxEventRules = 5

// Events records Events about policies. The recorder of client-go bounds them: it counts equal Events in one object, combines
// similar ones, allows 25 at once for an object and then one in five minutes, and drops what waits too long.
type Events struct {
	Recorder record.EventRecorder
	// policies has the policies, by name.
	policies cache.Store
}

// NewEvents returns a recorder of Events that ends with ctx. component is the name of the recorder in the Events.
func NewEvents(ctx context.Context, client kubernetes.Interface, policies cache.Store, component string) *Events {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return &Events{Recorder: broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component}), policies: policies}
}

// Record records an Event for each policy. It names the object and the rules, and neither values, keys of maps nor the user:
// users that may read Events may not read the object.
func (e *Events) Record(object string, hits []Hit) {
	for _, h := range hits {
		e.record(h, fmt.Sprintf("an update of %s: %s", object, RulesOf(h.Found)))
	}
}

// RecordDeletion records an Event about a deletion that a rule no-delete of a policy forbids.
func (e *Events) RecordDeletion(object string, by Kept) {
	e.record(Hit{Policy: by.Policy, Warns: by.Warns}, "the deletion of "+object+": "+noDelete)
}

func (e *Events) record(h Hit, what string) {
	obj, known, err := e.policies.GetByKey(h.Policy)
	policy, ok := obj.(*unstructured.Unstructured)
	if err != nil || !known || !ok {
		return // the policy is deleted
	}
	about := &corev1.ObjectReference{
		APIVersion: policy.GetAPIVersion(), Kind: policy.GetKind(), Name: policy.GetName(), UID: policy.GetUID(),
		ResourceVersion: policy.GetResourceVersion(),
	}
	reason, verb := reasonRefused, "refused"
	if h.Warns {
		reason, verb = reasonWarned, "warned about"
	}
	e.Recorder.Event(about, corev1.EventTypeWarning, reason, verb+" "+what)
}

// RulesOf returns the rules that violations break, each once.
func RulesOf(found []refusal.Violation) string {
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

// RecordRefusal records an Event about a definition, after the guard has refused to change it.
func (e *Events) RecordRefusal(about *corev1.ObjectReference, message string) {
	e.Recorder.Event(about, corev1.EventTypeWarning, reasonRefused, message)
}

package rules

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The longest texts of an Event, in bytes.
const (
	maxEventText = 128
	maxEventNote = 1024
)

func eventRules() []rule {
	return []rule{
		onStruct(coreEvent),
		onStruct(newEvent),
	}
}

// coreEvent checks an Event of the core group. The rules of events.k8s.io apply only if eventTime is set: older clients do
// not set it.
func coreEvent(r *report, e *corev1.Event) {
	eventNamespace(r, e.Namespace, e.InvolvedObject.Namespace)
	if e.EventTime.IsZero() {
		return
	}
	eventReporter(r, e.ReportingController, "reportingComponent")
	eventText(r, e.ReportingInstance, "reportingInstance")
	eventText(r, e.Action, "action")
	eventText(r, e.Reason, "reason")
	if len(e.Message) > maxEventNote {
		r.invalid("", "can have at most 1024 characters", "message")
	}
}

// newEvent checks an Event of events.k8s.io that is created.
func newEvent(r *report, e *eventsv1.Event) {
	if !r.create {
		return // an update can only change the series
	}
	eventNamespace(r, e.Namespace, e.Regarding.Namespace)
	if e.EventTime.IsZero() {
		r.required("", "eventTime")
	}
	eventReporter(r, e.ReportingController, "reportingController")
	eventText(r, e.ReportingInstance, "reportingInstance")
	eventText(r, e.Action, "action")
	eventText(r, e.Reason, "reason")
	if len(e.Note) > maxEventNote {
		r.invalid("", "can have at most 1024 characters", "message")
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		r.invalid("", "has invalid value: "+e.Type, "type")
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"firstTimestamp", !e.DeprecatedFirstTimestamp.IsZero()},
		{"lastTimestamp", !e.DeprecatedLastTimestamp.IsZero()},
		{"count", e.DeprecatedCount != 0},
		{"source", e.DeprecatedSource != corev1.EventSource{}},
	} {
		if f.set {
			r.invalid("", "needs to be unset", f.name)
		}
	}
}

// eventNamespace checks that an Event is in the namespace of the object that it is about. Events about cluster-scoped
// objects are in the namespace default.
func eventNamespace(r *report, namespace, involved string) {
	if involved == "" && (namespace == metav1.NamespaceNone || namespace == metav1.NamespaceDefault) || namespace == involved {
		return
	}
	r.invalid(involved, "does not match event.namespace", "involvedObject", "namespace")
}

func eventReporter(r *report, name, field string) {
	if name == "" {
		r.required("", field)
	}
	r.invalidAll(name, validation.IsQualifiedName(name), field)
}

func eventText(r *report, text, field string) {
	switch {
	case text == "":
		r.required("", field)
	case len(text) > maxEventText:
		r.invalid("", "can have at most 128 characters", field)
	}
}

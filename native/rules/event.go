package rules

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	maxEventWord = 128
	maxEventNote = 1024
)

func eventRules() []rule {
	return []rule{
		each(coreEvent),
		each(newEvent),
	}
}

// coreEvent holds an event of the older API: only one with an eventTime follows the newer API's rules.
func coreEvent(r *report, e *corev1.Event) {
	eventNamespace(r, e.Namespace, e.InvolvedObject.Namespace)
	if e.EventTime.IsZero() {
		return
	}
	eventReporter(r, e.ReportingController, "reportingComponent")
	eventWord(r, e.ReportingInstance, "reportingInstance")
	eventWord(r, e.Action, "action")
	eventWord(r, e.Reason, "reason")
	if len(e.Message) > maxEventNote {
		r.invalid("", "can have at most 1024 characters", "message")
	}
}

func newEvent(r *report, e *eventsv1.Event) {
	if !r.create {
		return // an update of the newer API may change the series and nothing else
	}
	eventNamespace(r, e.Namespace, e.Regarding.Namespace)
	if e.EventTime.IsZero() {
		r.required("", "eventTime")
	}
	eventReporter(r, e.ReportingController, "reportingController")
	eventWord(r, e.ReportingInstance, "reportingInstance")
	eventWord(r, e.Action, "action")
	eventWord(r, e.Reason, "reason")
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

// eventNamespace holds an event to the namespace of what it is about; events about cluster-wide objects are in default.
func eventNamespace(r *report, namespace, about string) {
	if about == "" && (namespace == metav1.NamespaceNone || namespace == metav1.NamespaceDefault) || namespace == about {
		return
	}
	r.invalid(about, "does not match event.namespace", "involvedObject", "namespace")
}

func eventReporter(r *report, name, field string) {
	if name == "" {
		r.required("", field)
		return
	}
	r.says(name, validation.IsQualifiedName(name), field)
}

func eventWord(r *report, word, field string) {
	switch {
	case word == "":
		r.required("", field)
	case len(word) > maxEventWord:
		r.invalid("", "can have at most 128 characters", field)
	}
}

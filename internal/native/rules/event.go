package rules

import (
	"fmt"

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
		onStruct(func(r *report, e *corev1.Event) { coreEvent(r, e, "reportingComponent") }),
		onStruct(func(r *report, e *eventsv1.Event) {
			if r.create { // an update can only change the series
				newEvent(r, coreForm(e))
			}
		}),
	}
}

// coreForm returns an Event of events.k8s.io as one of the core group.
func coreForm(e *eventsv1.Event) *corev1.Event {
	form := &corev1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		Action: e.Action, Reason: e.Reason, Message: e.Note, Type: e.Type, InvolvedObject: e.Regarding, Source: e.DeprecatedSource,
		FirstTimestamp: e.DeprecatedFirstTimestamp, LastTimestamp: e.DeprecatedLastTimestamp, Count: e.DeprecatedCount,
	}
	if e.Series != nil {
		form.Series = &corev1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return form
}

// coreEvent checks what all Events have. Older clients do not set eventTime, and fewer rules apply to their Events. reporter is
// the name of the field ReportingController, which the API groups call by different names.
func coreEvent(r *report, e *corev1.Event, reporter string) {
	if !isInNamespace(e) {
		r.invalid(e.InvolvedObject.Namespace, "does not match event.namespace", "involvedObject", "namespace")
	}
	if !e.EventTime.IsZero() {
		requireSet(r, namedText{reporter, e.ReportingController}, namedText{"reportingInstance", e.ReportingInstance},
			namedText{"action", e.Action}, namedText{"reason", e.Reason})
		r.invalidAll(e.ReportingController, validation.IsQualifiedName(e.ReportingController), reporter)
		eventText(r, namedText{"reportingInstance", e.ReportingInstance}, maxEventText)
		eventText(r, namedText{"action", e.Action}, maxEventText)
		eventText(r, namedText{"reason", e.Reason}, maxEventText)
		eventText(r, namedText{"message", e.Message}, maxEventNote)
	}
	r.invalidAll(e.Namespace, validation.IsDNS1123Subdomain(e.Namespace), "namespace")
}

// isInNamespace reports whether an Event is in a namespace where an Event about its object can be. Events about cluster-scoped
// objects are in the namespace default, and new ones also in kube-system.
func isInNamespace(e *corev1.Event) bool {
	involved := e.InvolvedObject.Namespace
	switch {
	case !e.EventTime.IsZero():
		return involved != "" || e.Namespace == metav1.NamespaceDefault || e.Namespace == metav1.NamespaceSystem
	case involved == "":
		return e.Namespace == metav1.NamespaceNone || e.Namespace == metav1.NamespaceDefault
	}
	return e.Namespace == involved
}

func eventText(r *report, f namedText, longest int) {
	if len(f.value) > longest {
		r.invalid("", fmt.Sprintf("can have at most %d characters", longest), f.name)
	}
}

package rules

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateNewEvent validates an Event that is created with the API group events.k8s.io. This group requires more fields
// than the core group, which older clients use.
func ValidateNewEvent(event *corev1.Event) field.ErrorList {
	r := &report{create: true}
	r.add(apivalidation.ValidateObjectMetaAccessor(event, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")))
	r.add(wrongFinalizers(event))
	newEvent(r, event)
	return r.errs
}

func newEvent(r *report, e *corev1.Event) {
	coreEvent(r, e, "reportingController")
	eventSeries(r, e.Series)
	if e.EventTime.IsZero() {
		r.required("", "eventTime")
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		r.invalid("", "has invalid value: "+e.Type, "type")
	}
	for _, f := range []setField{
		{"firstTimestamp", !e.FirstTimestamp.IsZero()},
		{"lastTimestamp", !e.LastTimestamp.IsZero()},
		{"count", e.Count != 0},
		{"source", e.Source != corev1.EventSource{}},
	} {
		if f.isSet {
			r.invalid("", "needs to be unset", f.name)
		}
	}
}

func eventSeries(r *report, s *corev1.EventSeries) {
	if s == nil {
		return
	}
	if s.Count < 2 {
		r.invalid("", "should be at least 2", "series", "count")
	}
	if s.LastObservedTime.IsZero() {
		r.required("", "series", "lastObservedTime")
	}
}

// ValidateEventChange validates an update of an Event with the API group events.k8s.io. Only its series can change.
func ValidateEventChange(updated, old *corev1.Event) field.ErrorList {
	r := &report{old: old}
	r.add(apivalidation.ValidateObjectMetaAccessorUpdate(updated, old, field.NewPath("metadata")))
	r.add(wrongFinalizers(updated))
	coreEvent(r, updated, "reportingController")
	if !apiequality.Semantic.DeepEqual(updated.Series, old.Series) {
		eventSeries(r, updated.Series)
	}
	for _, value := range []struct {
		name         string
		updated, old any
	}{
		{"involvedObject", updated.InvolvedObject, old.InvolvedObject},
		{"reason", updated.Reason, old.Reason},
		{"message", updated.Message, old.Message},
		{"source", updated.Source, old.Source},
		{"firstTimestamp", updated.FirstTimestamp, old.FirstTimestamp},
		{"lastTimestamp", updated.LastTimestamp, old.LastTimestamp},
		{"count", updated.Count, old.Count},
		{"type", updated.Type, old.Type},
		{"eventTime", updated.EventTime, old.EventTime},
		{"action", updated.Action, old.Action},
		{"related", updated.Related, old.Related},
		{"reportingController", updated.ReportingController, old.ReportingController},
		{"reportingInstance", updated.ReportingInstance, old.ReportingInstance},
	} {
		r.add(apivalidation.ValidateImmutableField(value.updated, value.old, field.NewPath(value.name)))
	}
	return r.errs
}

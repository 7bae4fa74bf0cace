package rules

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateNewEvent validates an Event that is created with the API group events.k8s.io. This group requires more fields
// than the core group, which older clients use.
func ValidateNewEvent(event *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	if event.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if event.ReportingController == "" {
		errs = append(errs, field.Required(field.NewPath("reportingController"), ""))
	}
	for _, problem := range validation.IsQualifiedName(event.ReportingController) {
		errs = append(errs, field.Invalid(field.NewPath("reportingController"), event.ReportingController, problem))
	}
	for _, required := range []struct{ name, value string }{
		{"reportingInstance", event.ReportingInstance}, {"action", event.Action}, {"reason", event.Reason},
	} {
		if required.value == "" {
			errs = append(errs, field.Required(field.NewPath(required.name), ""))
		}
		if len(required.value) > maxEventText {
			errs = append(errs, field.TooLong(field.NewPath(required.name), "", maxEventText))
		}
	}
	if len(event.Message) > maxEventNote {
		errs = append(errs, field.TooLong(field.NewPath("message"), "", maxEventNote))
	}
	for _, unset := range []struct {
		name  string
		isSet bool
	}{
		{"firstTimestamp", !event.FirstTimestamp.IsZero()},
		{"lastTimestamp", !event.LastTimestamp.IsZero()},
		{"count", event.Count != 0},
		{"source", event.Source != corev1.EventSource{}},
	} {
		if unset.isSet {
			errs = append(errs, field.Invalid(field.NewPath(unset.name), "", "needs to be unset"))
		}
	}
	if event.Type != corev1.EventTypeNormal && event.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), event.Type, "has invalid value: "+event.Type))
	}
	return errs
}

// ValidateEventChange validates an update of an Event with the API group events.k8s.io. Only its series can change.
func ValidateEventChange(updated, old *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	if series := updated.Series; series != nil && !apiequality.Semantic.DeepEqual(series, old.Series) {
		if series.Count < 2 {
			errs = append(errs, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
		}
		if series.LastObservedTime.IsZero() {
			errs = append(errs, field.Required(field.NewPath("series.lastObservedTime"), ""))
		}
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
		errs = append(errs, apivalidation.ValidateImmutableField(value.updated, value.old, field.NewPath(value.name))...)
	}
	return errs
}

package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	eventTextLimit = 128
	eventNoteLimit = 1024
)

// ValidateNewEvent returns what keeps an event from being created through events.k8s.io, in the words of that group. It
// asks for more than the core group, whose events older clients write with half of the fields.
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
		if len(required.value) > eventTextLimit {
			errs = append(errs, field.TooLong(field.NewPath(required.name), "", eventTextLimit))
		}
	}
	if len(event.Message) > eventNoteLimit {
		errs = append(errs, field.TooLong(field.NewPath("message"), "", eventNoteLimit))
	}
	if event.Type != corev1.EventTypeNormal && event.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), event.Type, "has invalid value: "+event.Type))
	}
	return errs
}

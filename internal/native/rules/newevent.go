package rules

import (
	corev1 "k8s.io/api/core/v1"
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
	if event.Type != corev1.EventTypeNormal && event.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), event.Type, "has invalid value: "+event.Type))
	}
	return errs
}

package console

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver/refused"
	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// Report is what the console shows of one object. Values are short texts.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	Object          Object `json:"object"`
	// Notes say what is not known, and why.
	Notes []string `json:"notes"`
	Locks []Lock   `json:"locks"`
	// NeverReplaced is the reason that an object of this kind is never replaced by a new one of the same name, empty if it may be.
	NeverReplaced string `json:"neverReplaced,omitempty"`
	// Kept are the reasons for which the object cannot be deleted.
	Kept []Kept `json:"kept"`
	// Applied means that the object has a last-applied configuration. Drift has the fields that
	// the next kubectl apply changes back.
	Applied bool    `json:"applied"`
	Drift   []Field `json:"drift"`
	// Fields are all fields that can have an owner.
	Fields []Field `json:"fields"`
	// Refused are the writes of the last hour that a protection refused.
	Refused []refused.Write `json:"refused"`
	// Plans are the plans of an Instance that have run, the last one first.
	Plans []api.PlanStatus `json:"plans,omitempty"`
	// Running is the name of the plan that runs, empty if none does.
	Running string `json:"running,omitempty"`
	// Versions are the versions of a CustomResourceDefinition.
	Versions []Version `json:"versions,omitempty"`
}

// Object names the object of a report.
type Object struct {
	APIVersion      string    `json:"apiVersion"`
	Kind            string    `json:"kind"`
	Namespace       string    `json:"namespace,omitempty"`
	Name            string    `json:"name"`
	UID             string    `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
	Created         time.Time `json:"created"`
	// Deleted is set while finalizers keep a deleted object.
	Deleted *time.Time `json:"deleted,omitempty"`
	// Series is the series of a ConfigMap or a Secret, empty if it is in none.
	Series string `json:"series,omitempty"`
}

// Lock is a place of the object that cannot change, or only in part.
type Lock struct {
	Field string `json:"field"`
	// Reason is marker, rule, policy, frozen, flag or parameter. Why says the same to a reader.
	Reason string `json:"reason"`
	Why    string `json:"why"`
	// Rule says what may not change.
	Rule string `json:"rule"`
	// Free means that this place may change although one above it may not.
	Free bool `json:"free,omitempty"`
	// Absent means that the object has no value here, and that none may be set.
	Absent bool `json:"absent,omitempty"`
	// Exception says when a change is allowed, empty for never.
	Exception string `json:"exception,omitempty"`
	// Warns means that the server only warns about a change.
	Warns bool `json:"warns,omitempty"`
	Condition
}

// Field is a field of the object and its owner.
type Field struct {
	Field string `json:"field"`
	Value string `json:"value"`
	// Rules say in words which changes of the field are refused, and why. They are empty in Drift.
	Rules []string `json:"rules,omitempty"`
	// AppliedValue is the value applied last. It is set only in Drift.
	AppliedValue string `json:"appliedValue,omitempty"`
	// Owner is empty for a free field.
	Owner string `json:"owner,omitempty"`
	// SetBy and At tell the last write, if it is known.
	SetBy string     `json:"setBy,omitempty"`
	At    *time.Time `json:"at,omitempty"`
}

// maxShown is the number of characters of a value that a report has.
const maxShown = 200

func fieldsOf(reports []ownership.FieldReport) []Field {
	fields := make([]Field, 0, len(reports))
	for _, report := range reports {
		field := Field{Field: report.Field, Value: show(report.Value), Owner: report.Owner, At: report.At}
		if report.SetBy != nil {
			field.SetBy = *report.SetBy
		}
		if report.Applied != nil {
			field.AppliedValue = show(*report.Applied)
		}
		fields = append(fields, field)
	}
	return fields
}

// show returns the text of a value.
func show(v any) string {
	switch v {
	case nil:
		v = value.Absent{}
	case ownership.Redacted:
		return ownership.Redacted
	}
	return value.Printer{Limit: maxShown, LiteralHTML: true}.Print(v)
}

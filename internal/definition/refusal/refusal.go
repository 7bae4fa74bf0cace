// Package refusal makes the answer to an update that changes immutable fields. The server and the
// guard both use it, so that their answers are the same.
//
//	found := refusal.Merge(refusal.Of("", policy.Check(oldObj, newObj)), refusal.Of("v2", other.Check(was, is)))
//	status := refusal.Answer{Kind: kind, Name: name, UID: uid, Values: mayGet}.Status(found)
//
// Rules may have conditions. Decide asks about those of the rules that an update breaks:
//
//	decision := refusal.Edge{Holds: holds, May: may}.Decide(found)
//
// The answer lists every violation as a cause. It contains values of the object only if the client
// may get the object.
package refusal

import (
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/immutability"
)

// CauseTypeFieldImmutable is the type of each cause in the answer to a change that a
// marker forbids.
const CauseTypeFieldImmutable metav1.CauseType = "FieldImmutable"

// maxListed is the number of changes that the message lists. They are also in the
// causes, but kubectl prints causes only for the reason Invalid.
const maxListed = 5

// Violation is a change that a marker forbids.
type Violation struct {
	immutability.Violation
	// Source names what has the marker, such as "version v1". It is empty for the version of the
	// request.
	Source string
	// Unclear says why the condition of the rule could not be evaluated. The rule holds then. It is nil if it could.
	Unclear error
}

// Of returns violations that have the same source.
func Of(source string, found []immutability.Violation) []Violation {
	var out []Violation
	for _, one := range found {
		out = append(out, Violation{Violation: one, Source: source})
	}
	return out
}

// FieldsOf returns the places of violations.
func FieldsOf(found []Violation) []string {
	fields := make([]string, 0, len(found))
	for _, one := range found {
		fields = append(fields, one.Path.String())
	}
	return fields
}

// Merge appends the violations in more that are not in found. Two versions that mark the same field
// find the same violation.
func Merge(found, more []Violation) []Violation {
	if len(found) == 0 || len(more) == 0 {
		return append(found, more...)
	}
	known := make(map[string]bool, len(found))
	for _, one := range found {
		known[one.String()] = true
	}
	for _, one := range more {
		if !known[one.String()] {
			found = append(found, one)
		}
	}
	return found
}

// Answer is the answer to a refused update of an object.
type Answer struct {
	Kind schema.GroupKind
	Name string
	UID  types.UID
	// Code is the HTTP status, 400 or 422; zero is 400. Clients do not retry a request after 400.
	// Some tools recreate an object only after 422.
	Code int
	// Values means that the answer may contain values of the object.
	Values bool
}

// Status returns the answer with all violations.
func (a Answer) Status(found []Violation) metav1.Status {
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
		Details: &metav1.StatusDetails{Group: a.Kind.Group, Kind: a.Kind.Kind, Name: a.Name, UID: a.UID},
	}
	if a.Code == http.StatusUnprocessableEntity {
		status.Code, status.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
	for _, one := range found {
		cause := metav1.StatusCause{Type: CauseTypeFieldImmutable, Field: one.Path.String(), Message: a.Message(one)}
		status.Details.Causes = append(status.Details.Causes, cause)
	}
	status.Message = fmt.Sprintf("%s %q cannot be changed this way: %s", a.Kind.String(), a.Name, List(status.Details.Causes))
	return status
}

// Message returns the text of one violation.
func (a Answer) Message(one Violation) string {
	text := one.Rule()
	if a.Values {
		text = one.Message()
	}
	if one.Source != "" {
		text += ", which " + one.Source + " forbids"
	}
	if one.Unclear != nil {
		text += "; the condition could not be evaluated: " + one.Unclear.Error()
	}
	if one.Mark != nil && one.Mark.Unless != "" {
		text += " (a user that may " + one.Mark.Unless + " it can change it)"
	}
	return text
}

// Override returns the warning about a change that the right of its user allows.
func (a Answer) Override(one Violation) string {
	text := one.Operation.String()
	if a.Values {
		text = one.Change()
	}
	return one.Path.String() + ": " + text + " by the right to " + one.Mark.Unless
}

// List returns the first causes and the number of the rest as one line.
func List(causes []metav1.StatusCause) string {
	var listed []string
	for _, cause := range causes[:min(len(causes), maxListed)] {
		listed = append(listed, cause.Field+": "+cause.Message)
	}
	if more := len(causes) - len(listed); more > 0 {
		listed = append(listed, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(listed, "; ")
}

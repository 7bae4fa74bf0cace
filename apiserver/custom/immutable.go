package custom

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/disclosure"
	"holdfast.dev/holdfast/immutability"
)

// CauseTypeFieldImmutable is the type of each cause in the answer to a change that a
// marker forbids.
const CauseTypeFieldImmutable metav1.CauseType = "FieldImmutable"

// maxListed is the number of changes that the message lists. They are also in the
// causes, but kubectl prints causes only for the reason Invalid.
const maxListed = 5

// checkImmutable returns an error for an update that a marker forbids. The markers of
// the version in the request count, and those of every other version that is served or
// stored. Otherwise a client could change a field through a version without the marker.
func (v *version) checkImmutable(ctx context.Context, newObj, oldObj *object) error {
	found := violationsOf("", v.compiled.Policy.Check(oldObj.Object, newObj.Object))
	if len(v.alsoMarked) > 0 {
		more, err := v.checkOtherVersions(ctx, newObj, oldObj)
		found = mergeViolations(found, more)
		// If the check of one version failed, but another version has a violation, the
		// client gets the violation.
		if err != nil && len(found) == 0 {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	return v.immutableError(ctx, oldObj, found)
}

// violation is a change that a marker forbids.
type violation struct {
	immutability.Violation
	// version is the version with the marker. It is empty for the version of the request.
	version string
}

func violationsOf(version string, found []immutability.Violation) []violation {
	var out []violation
	for _, one := range found {
		out = append(out, violation{one, version})
	}
	return out
}

// mergeViolations appends the violations in more that are not in found. Two versions
// that mark the same field find the same violation.
func mergeViolations(found, more []violation) []violation {
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

// immutableError returns the answer to a change of immutable fields. Its status is 400,
// because clients do not retry a request after 400. Some tools recreate an object only
// after 422, so Config.ImmutabilityStatus can select 422. It shows values only to a client
// that may get the object.
func (v *version) immutableError(ctx context.Context, obj *object, found []violation) error {
	kind := v.resource.kind
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
		Details: &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: obj.GetName(), UID: obj.GetUID()},
	}
	if v.resource.server.config.ImmutabilityStatus == http.StatusUnprocessableEntity {
		status.Code, status.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
	message := immutability.Violation.Rule
	if disclosure.Allowed(ctx) {
		message = immutability.Violation.Message
	}
	var listed []string
	for i, one := range found {
		cause := metav1.StatusCause{Type: CauseTypeFieldImmutable, Field: one.Path.String(), Message: message(one.Violation)}
		if one.version != "" {
			cause.Message += ", which version " + one.version + " forbids"
		}
		status.Details.Causes = append(status.Details.Causes, cause)
		if i < maxListed {
			listed = append(listed, cause.Field+": "+cause.Message)
		}
	}
	if more := len(found) - len(listed); more > 0 {
		listed = append(listed, fmt.Sprintf("and %d more", more))
	}
	status.Message = fmt.Sprintf("%s %q cannot be changed this way: %s", kind.String(), obj.GetName(), strings.Join(listed, "; "))
	return &apierrors.StatusError{ErrStatus: status}
}

package custom

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/immutability"
)

// CauseTypeFieldImmutable is the reason of each cause in the answer to a change
// that a marker forbids.
const CauseTypeFieldImmutable metav1.CauseType = "FieldImmutable"

// maxSaid is how many changes the message itself names; kubectl prints the causes
// of Invalid only.
const maxSaid = 5

// checkImmutable refuses an update that changes what a marker keeps: a marker in
// the version of the request, and in every other version that is served or
// stored, so that no version is a way around another.
func (v *version) checkImmutable(ctx context.Context, newObj, oldObj *object) error {
	found := v.compiled.Policy.Check(oldObj.Object, newObj.Object)
	if len(v.others) > 0 {
		more, err := v.checkOthers(ctx, newObj, oldObj)
		found = merged(found, more)
		// What one version refuses stays so, whatever another cannot say.
		if err != nil && len(found) == 0 {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	return v.forbidden(oldObj, found)
}

// merged adds violations that are not among those found already: versions that mark
// the same field say the same of it.
func merged(found, more []immutability.Violation) []immutability.Violation {
	if len(found) == 0 || len(more) == 0 {
		return append(found, more...)
	}
	said := make(map[string]bool, len(found))
	for _, violation := range found {
		said[violation.String()] = true
	}
	for _, violation := range more {
		if !said[violation.String()] {
			found = append(found, violation)
		}
	}
	return found
}

// forbidden is the answer to a change of immutable fields. It is 400, which
// clients do not try again; some recreate an object on 422 only, so that can be
// chosen.
func (v *version) forbidden(obj *object, found []immutability.Violation) error {
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
		Details: &metav1.StatusDetails{Group: v.resource.kind.Group, Kind: v.resource.kind.Kind, Name: obj.GetName(), UID: obj.GetUID()},
	}
	if v.resource.server.config.ImmutabilityStatus == http.StatusUnprocessableEntity {
		status.Code, status.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
	var said []string
	for i, violation := range found {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: CauseTypeFieldImmutable, Field: violation.Path.String(), Message: violation.Message(),
		})
		if i < maxSaid {
			said = append(said, violation.String())
		}
	}
	if more := len(found) - len(said); more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	status.Message = fmt.Sprintf("%s %q cannot be changed this way: %s", v.resource.kind.String(), obj.GetName(), strings.Join(said, "; "))
	return &apierrors.StatusError{ErrStatus: status}
}

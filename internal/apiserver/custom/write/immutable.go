package write

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/protection"
)

// checkImmutable returns an error for an update that a marker forbids. The markers of the version in the request count, and those of every
// other version that is served or stored. Otherwise a client could change a field through a version without the marker.
func (j Judge) checkImmutable(ctx context.Context, newObj, oldObj *object.Object) error {
	found := refusal.Of("", j.Version.Compiled.Policy.Check(oldObj.Object, newObj.Object))
	if len(j.Version.AlsoMarked) > 0 {
		more, err := j.checkOtherVersions(ctx, newObj, oldObj)
		found = refusal.Merge(found, more)
		// If a conversion failed, but the server found violations before, the client gets the violations.
		if err != nil && len(found) == 0 {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	protection.Refuse(ctx, protection.ImmutableField)
	answer := refusal.Answer{
		Kind: j.Version.Kind.GroupKind, Name: oldObj.GetName(), UID: oldObj.GetUID(),
		Code: j.ImmutabilityStatus, Values: disclosure.Allowed(ctx),
	}
	return &apierrors.StatusError{ErrStatus: answer.Status(found)}
}

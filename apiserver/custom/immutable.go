package custom

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/apiserver/disclosure"
	"holdfast.dev/holdfast/definition/refusal"
	"holdfast.dev/holdfast/protection"
)

// checkImmutable returns an error for an update that a marker forbids. The markers of
// the version in the request count, and those of every other version that is served or
// stored. Otherwise a client could change a field through a version without the marker.
func (v *version) checkImmutable(ctx context.Context, newObj, oldObj *object) error {
	found := refusal.Of("", v.compiled.Policy.Check(oldObj.Object, newObj.Object))
	if len(v.alsoMarked) > 0 {
		more, err := v.checkOtherVersions(ctx, newObj, oldObj)
		found = refusal.Merge(found, more)
		// If the check of one version failed, but another version has a violation, the
		// client gets the violation.
		if err != nil && len(found) == 0 {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	protection.Refuse(ctx, protection.ImmutableField)
	answer := refusal.Answer{
		Kind: v.resource.kind, Name: oldObj.GetName(), UID: oldObj.GetUID(),
		Code: v.resource.server.config.ImmutabilityStatus, Values: disclosure.Allowed(ctx),
	}
	return &apierrors.StatusError{ErrStatus: answer.Status(found)}
}

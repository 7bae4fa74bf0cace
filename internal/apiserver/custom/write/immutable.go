package write

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/apiserver/update"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/protection"
)

// checkImmutable returns an error for an update that a rule forbids. The rules of the version in the request count, and those of every
// other version that is served or stored. Otherwise a client could change a field through a version without the rule.
func (j Judge) checkImmutable(ctx context.Context, newObj, oldObj *object.Object) error {
	found := j.violations(ctx, j.Version, oldObj, newObj)
	if len(j.Version.AlsoMarked) > 0 {
		more, err := j.checkOtherVersions(ctx, newObj, oldObj)
		found.Merge(more)
		// If a conversion failed, but the server found violations before, the client gets the violations.
		if err != nil && len(found.Refused) == 0 {
			return err
		}
	}
	if len(found.Refused) > 0 {
		protection.Refuse(ctx, protection.ImmutableField, refusal.FieldsOf(found.Refused)...)
	}
	more, err := j.checkPolicies(ctx, newObj, oldObj)
	if err != nil && len(found.Refused) == 0 {
		return err
	}
	found.Merge(more)
	if found.IsEmpty() {
		update.Override(ctx, refusal.Answer{}, nil)
		return nil
	}
	answer := refusal.Answer{
		Kind: j.Version.Kind.GroupKind, Name: oldObj.GetName(), UID: oldObj.GetUID(),
		Code: j.ImmutabilityStatus, Values: disclosure.Allowed(ctx),
	}
	if len(found.Refused) == 0 {
		update.Override(ctx, answer, found.Allowed)
		return nil
	}
	return &apierrors.StatusError{ErrStatus: answer.Status(found.Refused)}
}

// violations checks the rules of one version. Both objects are in this version.
func (j Judge) violations(ctx context.Context, version *kind.Version, oldObj, newObj *object.Object) refusal.Decision {
	return j.decide(ctx, version, oldObj, version.Compiled.Policy.Check(oldObj.Object, newObj.Object))
}

// decide asks about the conditions of the rules that an update breaks, in one version.
func (j Judge) decide(ctx context.Context, version *kind.Version, oldObj *object.Object, broken []immutability.Violation) refusal.Decision {
	if len(broken) == 0 {
		return refusal.Decision{}
	}
	source := ""
	if version != j.Version {
		source = "version " + version.Name
	}
	return refusal.Edge{
		Holds: func(expression string) (bool, error) { return version.Compiled.Holds(ctx, expression, oldObj.Object) },
		May:   func(verb string) bool { return rights.May(ctx, verb) },
	}.Decide(refusal.Of(source, broken))
}

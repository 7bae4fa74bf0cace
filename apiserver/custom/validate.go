package custom

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/apiserver/fieldownership"
)

// validator is the second step of validation: what a schema says of values. It
// returns every failing path, changes nothing, and is given nil for the old
// object of a new one.
type validator interface {
	Validate(ctx context.Context, newObj, oldObj map[string]any) field.ErrorList
	// ValidateStatus is for a write that leaves all but the status alone.
	ValidateStatus(ctx context.Context, newObj, oldObj map[string]any) field.ErrorList
}

// compareUpdate is step 2 of package update for the resource and its scale. The store
// calls it before PrepareForUpdate, so the fields that the endpoint does not write are
// restored here already.
func (v *version) compareUpdate(
	ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions,
) (genericregistry.FinishFunc, error) {
	updated, old := content(newObj), content(oldObj)
	v.keepStatus(updated, old)
	return doNothing, v.compare(ctx, updated, old)
}

// compareStatusUpdate is compareUpdate for the status.
func (v *version) compareStatusUpdate(
	ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions,
) (genericregistry.FinishFunc, error) {
	updated, old := content(newObj), content(oldObj)
	keepAllButStatus(updated, old)
	return doNothing, v.compare(ctx, updated, old)
}

func doNothing(context.Context, bool) {}

// compare refuses an update of another object, and one that changes immutable fields.
// The kind and the apiVersion are immutable too: a policy compares them together with
// the fields that have markers. Without markers there is no policy, so validateKind
// compares them.
func (v *version) compare(ctx context.Context, updated, old *object) error {
	if uid := updated.GetUID(); uid != "" && uid != old.GetUID() {
		// The store compares the UID of a PUT only; a patch may name one too.
		return apierrors.NewConflict(v.resource.groupResource(), old.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, old.GetUID())) //nolint:staticcheck // the store's words
	}
	if err := v.checkImmutable(ctx, updated, old); err != nil {
		return err
	}
	if errs := v.validateKind(updated); len(errs) > 0 {
		return apierrors.NewInvalid(v.resource.kind, old.GetName(), errs)
	}
	return nil
}

// validateUpdate and validateStatus are rules: the objects must fit the schema.
func (v *version) validateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return v.validator.Validate(ctx, content(newObj).Object, content(oldObj).Object)
}

func (v *version) validateStatus(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return v.validator.ValidateStatus(ctx, content(newObj).Object, content(oldObj).Object)
}

// checkOwnership is a rule: an edit must not change fields that apply owns.
func (v *version) checkOwnership(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return v.resource.server.config.Ownership.Check(ctx, v.ownedUpdate(newObj, oldObj))
}

// ownedUpdate describes an update to the checker of field ownership.
func (v *version) ownedUpdate(newObj, oldObj runtime.Object) fieldownership.Update {
	return fieldownership.Update{Kind: v.groupVersionKind(), Type: v.owned, Live: oldObj, New: newObj}
}

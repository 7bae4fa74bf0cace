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
	"holdfast.dev/holdfast/definition"
)

// validator validates the values of an object against its schema, after checkTypes has
// checked their types. It returns an error for each path that fails and changes neither
// object.
type validator interface {
	// ValidateStored validates newObj, and reports whether it is valid as a whole.
	ValidateStored(ctx context.Context, newObj map[string]any, old definition.Stored) (errs field.ErrorList, valid bool)
	// ValidateStoredStatus is ValidateStored for a write that changes only the status.
	ValidateStoredStatus(ctx context.Context, newObj map[string]any, old definition.Stored) (errs field.ErrorList, valid bool)
}

// compareUpdate is BeginUpdate of the store, step 2 in the doc of package update, for the
// resource and its scale. The store calls it before PrepareForUpdate, so compareUpdate
// itself restores the status that the endpoint does not write.
func (v *version) compareUpdate(
	ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions,
) (genericregistry.FinishFunc, error) {
	updated, old := content(newObj), content(oldObj)
	v.keepStatus(updated, old)
	return doNothing, v.compare(ctx, updated, old)
}

// compareStatusUpdate is compareUpdate for the status subresource.
func (v *version) compareStatusUpdate(
	ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions,
) (genericregistry.FinishFunc, error) {
	updated, old := content(newObj), content(oldObj)
	keepAllButStatus(updated, old)
	return doNothing, v.compare(ctx, updated, old)
}

func doNothing(context.Context, bool) {}

// compare gives the new object the marked values of the old one that its version does not have.
// It rejects an update that has the UID of another object, and an update that changes immutable
// fields. The kind and the apiVersion are immutable too. If the schema has
// markers, its policy compares them together with the marked fields. Without markers there
// is no policy, so validateKind compares them.
func (v *version) compare(ctx context.Context, updated, old *object) error {
	updated.unseen = old.unseen
	if uid := updated.GetUID(); uid != "" && uid != old.GetUID() {
		// The store compares the UID only for a PUT, but a patch may contain a UID too.
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

// validateUpdate is an update.Rule. It validates the new object against the schema.
func (v *version) validateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return v.judged(content(newObj), content(oldObj), func(obj map[string]any, old definition.Stored) (field.ErrorList, bool) {
		return v.validator.ValidateStored(ctx, obj, old)
	})
}

// validateCreate validates a new object against the schema.
func (v *version) validateCreate(ctx context.Context, obj *object) field.ErrorList {
	return v.judged(obj, nil, func(obj map[string]any, old definition.Stored) (field.ErrorList, bool) {
		return v.validator.ValidateStored(ctx, obj, old)
	})
}

// validateStatus is an update.Rule. It validates the new status against the schema.
func (v *version) validateStatus(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return v.judged(content(newObj), content(oldObj), func(obj map[string]any, old definition.Stored) (field.ErrorList, bool) {
		return v.validator.ValidateStoredStatus(ctx, obj, old)
	})
}

// judged validates an object in place of a stored one, and records whether it is valid.
func (v *version) judged(
	updated, old *object, validate func(map[string]any, definition.Stored) (field.ErrorList, bool),
) field.ErrorList {
	stored := definition.Stored{}
	if old != nil {
		stored = definition.Stored{Object: old.Object, Valid: old.valid == v}
	}
	errs, valid := validate(updated.Object, stored)
	updated.valid = nil
	if valid {
		updated.valid = v
	}
	return errs
}

// checkOwnership is an update.Rule. It returns an error if the server is configured to
// refuse an edit that changes fields of other owners.
func (v *version) checkOwnership(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return v.resource.server.config.Ownership.Check(ctx, v.ownedUpdate(newObj, oldObj))
}

// ownedUpdate describes an update to the checker of field ownership.
func (v *version) ownedUpdate(newObj, oldObj runtime.Object) fieldownership.Update {
	return fieldownership.Update{Kind: v.groupVersionKind(), Type: v.owned, Live: oldObj, New: newObj}
}

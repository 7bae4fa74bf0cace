package custom

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
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

// beginUpdate judges an update of the resource or its scale. The store calls it
// when it has compared UID and resourceVersion, before it prepares the object and
// before validating admission: so what the endpoint leaves alone is put back
// here already.
func (v *version) beginUpdate(ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	updated, old := content(newObj), content(oldObj)
	v.keepStatus(updated, old)
	owned, update := v.served.server.config.Ownership, fieldownership.Update{Kind: v.groupVersionKind(), Type: v.owned, Live: old, New: updated}
	owned.Prepare(ctx, update)
	return doNothing, v.judgeUpdate(ctx, updated, old, func(ctx context.Context, newValues, oldValues map[string]any) field.ErrorList {
		return append(owned.Check(ctx, update), v.validator.Validate(ctx, newValues, oldValues)...)
	})
}

// beginStatusUpdate is beginUpdate for the status.
func (v *version) beginStatusUpdate(ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	updated, old := content(newObj), content(oldObj)
	keepAllButStatus(updated, old)
	return doNothing, v.judgeUpdate(ctx, updated, old, v.validator.ValidateStatus)
}

// judge is one of the methods of a validator.
type judge func(ctx context.Context, newObj, oldObj map[string]any) field.ErrorList

func doNothing(context.Context, bool) {}

// judgeUpdate leaves metadata to the store, which judges it next, unless there is
// something else to refuse: all that is wrong is said at once.
func (v *version) judgeUpdate(ctx context.Context, updated, old *object, values judge) error {
	if uid := updated.GetUID(); uid != "" && uid != old.GetUID() {
		// The store compares it for PUT alone, and a patch may name it as well.
		return apierrors.NewConflict(v.served.resource(), old.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, old.GetUID())) //nolint:staticcheck // the store's words
	}
	if err := v.checkImmutable(ctx, updated, old); err != nil {
		return err
	}
	errs := append(v.validateKind(updated), values(ctx, updated.Object, old.Object)...)
	if len(errs) == 0 {
		return nil
	}
	metadata := validation.ValidateObjectMetaAccessorUpdate(updated, old, field.NewPath("metadata"))
	return apierrors.NewInvalid(v.served.kind, updated.GetName(), append(metadata, errs...))
}

package custom

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
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
// when it has compared UID and resourceVersion and prepared the object, and
// before validating admission.
func (v *version) beginUpdate(ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	return doNothing, v.judgeUpdate(ctx, newObj, oldObj, v.validator.Validate)
}

// beginStatusUpdate is beginUpdate for the status.
func (v *version) beginStatusUpdate(ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	return doNothing, v.judgeUpdate(ctx, newObj, oldObj, v.validator.ValidateStatus)
}

// judge is one of the methods of a validator.
type judge func(ctx context.Context, newObj, oldObj map[string]any) field.ErrorList

func doNothing(context.Context, bool) {}

// judgeUpdate is called with metadata that the store has judged.
func (v *version) judgeUpdate(ctx context.Context, newObj, oldObj runtime.Object, values judge) error {
	updated, old := content(newObj), content(oldObj)
	if err := v.checkImmutable(ctx, updated, old); err != nil {
		return err
	}
	errs := v.validateKind(updated)
	errs = append(errs, values(ctx, updated.Object, old.Object)...)
	if len(errs) > 0 {
		return apierrors.NewInvalid(v.served.kind, updated.GetName(), errs)
	}
	return nil
}

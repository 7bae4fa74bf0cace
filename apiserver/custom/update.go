package custom

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
)

// judge is the second step of validation of an update.
type judge func(ctx context.Context, newObj, oldObj map[string]any) field.ErrorList

// beginUpdate judges an update of the resource or its scale. The store calls it
// when it has compared UID and resourceVersion and prepared the object, and
// before validating admission.
func (v *version) beginUpdate(ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	return doNothing, v.judgeUpdate(ctx, newObj, oldObj, v.compiled.Validate)
}

// beginStatusUpdate is beginUpdate for the status.
func (v *version) beginStatusUpdate(ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	return doNothing, v.judgeUpdate(ctx, newObj, oldObj, v.compiled.ValidateStatus)
}

func doNothing(context.Context, bool) {}

func (v *version) judgeUpdate(ctx context.Context, newObj, oldObj runtime.Object, values judge) error {
	updated, old := content(newObj), content(oldObj)
	if err := v.checkImmutable(ctx, updated, old); err != nil {
		return err
	}
	errs := v.validateKind(updated)
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(updated, old, field.NewPath("metadata"))...)
	errs = append(errs, values(ctx, updated.Object, old.Object)...)
	if len(errs) > 0 {
		return apierrors.NewInvalid(v.served.kind, updated.GetName(), errs)
	}
	return nil
}

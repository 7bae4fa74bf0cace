package main

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// create takes the steps of rest.BeforeCreate.
func (w *write) create(obj runtime.Object) error {
	strategy := w.kind.main
	strategy.PrepareForCreate(w.ctx, obj)
	errs := strategy.Validate(w.ctx, obj)
	if len(errs) == 0 {
		errs = validation.ValidateObjectMetaAccessor(objectMeta(obj), strategy.NamespaceScoped(), path.ValidatePathSegmentName, field.NewPath("metadata"))
	}
	if len(errs) == 0 {
		w.answer.Warnings = strategy.WarningsOnCreate(w.ctx, obj)
		strategy.Canonicalize(obj)
	}
	return w.store(obj, errs)
}

// update takes the steps of rest.BeforeUpdate.
func (w *write) update(strategy rest.RESTUpdateStrategy, obj, old runtime.Object) error {
	newMeta, oldMeta := objectMeta(obj), objectMeta(old)
	newMeta.SetGeneration(oldMeta.GetGeneration())
	strategy.PrepareForUpdate(w.ctx, obj, old)
	if newMeta.GetUID() == "" {
		newMeta.SetUID(oldMeta.GetUID())
	}
	if created := oldMeta.GetCreationTimestamp(); !created.IsZero() {
		newMeta.SetCreationTimestamp(created)
	}
	if deleted := oldMeta.GetDeletionTimestamp(); !deleted.IsZero() {
		newMeta.SetDeletionTimestamp(deleted)
	}
	if period := oldMeta.GetDeletionGracePeriodSeconds(); period != nil && newMeta.GetDeletionGracePeriodSeconds() == nil {
		newMeta.SetDeletionGracePeriodSeconds(period)
	}
	errs := validation.ValidateObjectMetaAccessor(newMeta, strategy.NamespaceScoped(), path.ValidatePathSegmentName, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(newMeta, oldMeta, field.NewPath("metadata"))...)
	errs = append(errs, strategy.ValidateUpdate(w.ctx, obj, old)...)
	if len(errs) == 0 {
		w.answer.Warnings = strategy.WarningsOnUpdate(w.ctx, obj, old)
		strategy.Canonicalize(obj)
	}
	return w.store(obj, errs)
}

// store records the object and the errors that validation found.
func (w *write) store(obj runtime.Object, errs field.ErrorList) error {
	for _, err := range errs {
		w.answer.Errors = append(w.answer.Errors, Error{Type: string(err.Type), Field: err.Field, Detail: err.Detail})
	}
	if len(errs) > 0 {
		return nil
	}
	var err error
	w.answer.Stored, err = w.encode(obj)
	return err
}

func objectMeta(obj runtime.Object) metav1.Object {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(errors.Join(errors.New("the oracle knows only kinds with metadata"), err))
	}
	return accessor
}

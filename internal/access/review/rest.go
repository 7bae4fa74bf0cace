package review

import (
	"context"
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// object is a pointer to the Go type of a review.
type object[T any] interface {
	*T
	runtime.Object
}

// storage implements the resource of one kind of review.
type storage[T any, P object[T]] struct {
	kind       schema.GroupKind
	namespaced bool
	// validate runs before admission and may be nil.
	validate func(ctx context.Context, review P) error
	// evaluate runs after admission and sets the status.
	evaluate func(ctx context.Context, review P) error
}

// New implements rest.Storage.
func (s *storage[T, P]) New() runtime.Object { return P(new(T)) }

// Destroy implements rest.Storage.
func (s *storage[T, P]) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *storage[T, P]) NamespaceScoped() bool { return s.namespaced }

// GetSingularName implements rest.SingularNameProvider.
func (s *storage[T, P]) GetSingularName() string { return strings.ToLower(s.kind.Kind) }

// Create implements rest.Creater.
func (s *storage[T, P]) Create(
	ctx context.Context, obj runtime.Object, admit rest.ValidateObjectFunc, _ *metav1.CreateOptions,
) (runtime.Object, error) {
	review, ok := obj.(P)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a %s: %T", s.kind.Kind, obj))
	}
	if s.validate != nil {
		if err := s.validate(ctx, review); err != nil {
			return nil, err
		}
	}
	if admit != nil {
		if err := admit(ctx, review.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := s.evaluate(ctx, review); err != nil {
		return nil, err
	}
	return review, nil
}

// validateEmpty rejects metadata, because a review does not use it. It ignores the
// managed fields and the namespace, which the server itself sets.
func validateEmpty(meta metav1.ObjectMeta) field.ErrorList {
	meta.ManagedFields, meta.Namespace = nil, ""
	if apiequality.Semantic.DeepEqual(meta, metav1.ObjectMeta{}) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), meta, "must be empty")}
}

func invalid(kind schema.GroupKind, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(kind, "", errs)
}

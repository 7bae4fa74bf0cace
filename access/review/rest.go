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

// question is a pointer to a kind of review.
type question[T any] interface {
	*T
	runtime.Object
}

// storage answers one kind of review. Check comes before admission, answer
// after it and writes the status.
type storage[T any, P question[T]] struct {
	kind       schema.GroupKind
	namespaced bool
	check      func(ctx context.Context, review P) error
	answer     func(ctx context.Context, review P) error
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
func (s *storage[T, P]) Create(ctx context.Context, obj runtime.Object, admit rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	review, ok := obj.(P)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a %s: %T", s.kind.Kind, obj))
	}
	if s.check != nil {
		if err := s.check(ctx, review); err != nil {
			return nil, err
		}
	}
	if admit != nil {
		if err := admit(ctx, review.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := s.answer(ctx, review); err != nil {
		return nil, err
	}
	return review, nil
}

// emptyMeta refuses metadata, which a review has no use for. What server-side
// apply and a namespace in the path put there is no metadata of the client's.
func emptyMeta(meta metav1.ObjectMeta) field.ErrorList {
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

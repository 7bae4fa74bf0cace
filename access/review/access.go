package review

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

var specPath = field.NewPath("spec")

// SubjectAccess serves subjectaccessreviews: may this subject do this?
func SubjectAccess(a authorizer.UnconditionalAuthorizer) rest.Storage {
	kind := authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview").GroupKind()
	return &storage[authorizationv1.SubjectAccessReview, *authorizationv1.SubjectAccessReview]{
		kind: kind,
		check: func(_ context.Context, review *authorizationv1.SubjectAccessReview) error {
			return invalid(kind, append(emptyMeta(review.ObjectMeta), checkSubject(review.Spec)...))
		},
		answer: func(ctx context.Context, review *authorizationv1.SubjectAccessReview) error {
			spec := review.Spec
			review.Status = ask(ctx, a, attributesOf(subject(spec), spec.ResourceAttributes, spec.NonResourceAttributes))
			return nil
		},
	}
}

// LocalSubjectAccess serves localsubjectaccessreviews: may this subject do this
// in the namespace of the review? Its right is given with a namespace.
func LocalSubjectAccess(a authorizer.UnconditionalAuthorizer) rest.Storage {
	kind := authorizationv1.SchemeGroupVersion.WithKind("LocalSubjectAccessReview").GroupKind()
	return &storage[authorizationv1.LocalSubjectAccessReview, *authorizationv1.LocalSubjectAccessReview]{
		kind:       kind,
		namespaced: true,
		check: func(ctx context.Context, review *authorizationv1.LocalSubjectAccessReview) error {
			errs := append(emptyMeta(review.ObjectMeta), checkSubject(review.Spec)...)
			if attributes := review.Spec.ResourceAttributes; attributes != nil && attributes.Namespace != review.Namespace {
				errs = append(errs, field.Invalid(specPath.Child("resourceAttributes", "namespace"), attributes.Namespace, "must match metadata.namespace"))
			}
			if review.Spec.NonResourceAttributes != nil {
				errs = append(errs, field.Invalid(specPath.Child("nonResourceAttributes"), review.Spec.NonResourceAttributes, "disallowed on this kind of request"))
			}
			if len(errs) > 0 {
				return invalid(kind, errs)
			}
			if namespace := request.NamespaceValue(ctx); namespace == "" || namespace != review.Namespace {
				return apierrors.NewBadRequest(fmt.Sprintf("spec.resourceAttributes.namespace must match namespace: %s", namespace))
			}
			return nil
		},
		answer: func(ctx context.Context, review *authorizationv1.LocalSubjectAccessReview) error {
			review.Status = ask(ctx, a, attributesOf(subject(review.Spec), review.Spec.ResourceAttributes, nil))
			return nil
		},
	}
}

// SelfSubjectAccess serves selfsubjectaccessreviews: may I do this?
func SelfSubjectAccess(a authorizer.UnconditionalAuthorizer) rest.Storage {
	kind := authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview").GroupKind()
	return &storage[authorizationv1.SelfSubjectAccessReview, *authorizationv1.SelfSubjectAccessReview]{
		kind: kind,
		check: func(_ context.Context, review *authorizationv1.SelfSubjectAccessReview) error {
			spec := review.Spec
			return invalid(kind, append(emptyMeta(review.ObjectMeta), checkAttributes(spec.ResourceAttributes, spec.NonResourceAttributes)...))
		},
		answer: func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) error {
			u, err := caller(ctx)
			if err != nil {
				return err
			}
			review.Status = ask(ctx, a, attributesOf(u, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes))
			return nil
		},
	}
}

// ask puts the question and writes the answer down.
func ask(ctx context.Context, a authorizer.UnconditionalAuthorizer, attributes authorizer.Attributes) authorizationv1.SubjectAccessReviewStatus {
	decision, reason, err := a.Authorize(ctx, attributes)
	status := authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.DecisionAllow,
		Denied:  decision == authorizer.DecisionDeny,
		Reason:  reason,
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return status
}

// caller is the user who asks.
func caller(ctx context.Context) (user.Info, error) {
	u, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewInternalError(errors.New("no user present on request"))
	}
	return u, nil
}

func checkSubject(spec authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := checkAttributes(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(specPath.Child("user"), spec.User, "at least one of user or group must be specified"))
	}
	return errs
}

func checkAttributes(resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) field.ErrorList {
	switch {
	case resource != nil && path != nil:
		return field.ErrorList{field.Invalid(specPath.Child("nonResourceAttributes"), path, "cannot be specified in combination with resourceAttributes")}
	case resource == nil && path == nil:
		return field.ErrorList{field.Invalid(specPath.Child("resourceAttributes"), nil, "exactly one of nonResourceAttributes or resourceAttributes must be specified")}
	case resource == nil:
		return nil
	}
	var errs field.ErrorList
	both := func(raw string, requirements int) bool { return raw != "" && requirements > 0 }
	resourcePath := specPath.Child("resourceAttributes")
	if s := resource.FieldSelector; s != nil && both(s.RawSelector, len(s.Requirements)) {
		errs = append(errs, field.Invalid(resourcePath.Child("fieldSelector", "rawSelector"), s.RawSelector, "may not specified at the same time as requirements"))
	}
	if s := resource.LabelSelector; s != nil && both(s.RawSelector, len(s.Requirements)) {
		errs = append(errs, field.Invalid(resourcePath.Child("labelSelector", "rawSelector"), s.RawSelector, "may not specified at the same time as requirements"))
	}
	return errs
}

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

// SubjectAccess returns the storage of subjectaccessreviews, which ask whether a
// given user may make a given request.
func SubjectAccess(a authorizer.UnconditionalAuthorizer) rest.Storage {
	kind := authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview").GroupKind()
	return &storage[authorizationv1.SubjectAccessReview, *authorizationv1.SubjectAccessReview]{
		kind: kind,
		validate: func(_ context.Context, review *authorizationv1.SubjectAccessReview) error {
			return invalid(kind, append(validateEmpty(review.ObjectMeta), validateSubject(review.Spec)...))
		},
		evaluate: func(ctx context.Context, review *authorizationv1.SubjectAccessReview) error {
			spec := review.Spec
			review.Status = authorize(ctx, a, attributesOf(subject(spec), spec.ResourceAttributes, spec.NonResourceAttributes))
			return nil
		},
	}
}

// LocalSubjectAccess returns the storage of localsubjectaccessreviews, which ask
// whether a given user may make a given request in the namespace of the review. A
// RoleBinding in that namespace can grant the right to create them.
func LocalSubjectAccess(a authorizer.UnconditionalAuthorizer) rest.Storage {
	kind := authorizationv1.SchemeGroupVersion.WithKind("LocalSubjectAccessReview").GroupKind()
	return &storage[authorizationv1.LocalSubjectAccessReview, *authorizationv1.LocalSubjectAccessReview]{
		kind:       kind,
		namespaced: true,
		validate: func(ctx context.Context, review *authorizationv1.LocalSubjectAccessReview) error {
			errs := append(validateEmpty(review.ObjectMeta), validateSubject(review.Spec)...)
			if attributes := review.Spec.ResourceAttributes; attributes != nil && attributes.Namespace != review.Namespace {
				path := specPath.Child("resourceAttributes", "namespace")
				errs = append(errs, field.Invalid(path, attributes.Namespace, "must match metadata.namespace"))
			}
			if attributes := review.Spec.NonResourceAttributes; attributes != nil {
				path := specPath.Child("nonResourceAttributes")
				errs = append(errs, field.Invalid(path, attributes, "disallowed on this kind of request"))
			}
			if len(errs) > 0 {
				return invalid(kind, errs)
			}
			if namespace := request.NamespaceValue(ctx); namespace == "" || namespace != review.Namespace {
				return apierrors.NewBadRequest(fmt.Sprintf("spec.resourceAttributes.namespace must match namespace: %s", namespace))
			}
			return nil
		},
		evaluate: func(ctx context.Context, review *authorizationv1.LocalSubjectAccessReview) error {
			review.Status = authorize(ctx, a, attributesOf(subject(review.Spec), review.Spec.ResourceAttributes, nil))
			return nil
		},
	}
}

// SelfSubjectAccess returns the storage of selfsubjectaccessreviews, which ask
// whether the client may make a given request.
func SelfSubjectAccess(a authorizer.UnconditionalAuthorizer) rest.Storage {
	kind := authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview").GroupKind()
	return &storage[authorizationv1.SelfSubjectAccessReview, *authorizationv1.SelfSubjectAccessReview]{
		kind: kind,
		validate: func(_ context.Context, review *authorizationv1.SelfSubjectAccessReview) error {
			errs := validateAttributes(review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
			return invalid(kind, append(validateEmpty(review.ObjectMeta), errs...))
		},
		evaluate: func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) error {
			u, err := caller(ctx)
			if err != nil {
				return err
			}
			review.Status = authorize(ctx, a, attributesOf(u, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes))
			return nil
		},
	}
}

// authorize returns the authorizer's decision in the form of a review's status.
func authorize(
	ctx context.Context, a authorizer.UnconditionalAuthorizer, attributes authorizer.Attributes,
) authorizationv1.SubjectAccessReviewStatus {
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

// caller returns the user that sent the request.
func caller(ctx context.Context) (user.Info, error) {
	u, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewInternalError(errors.New("no user present on request"))
	}
	return u, nil
}

func validateSubject(spec authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := validateAttributes(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(specPath.Child("user"), spec.User, "at least one of user or group must be specified"))
	}
	return errs
}

func validateAttributes(resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) field.ErrorList {
	resourcePath := specPath.Child("resourceAttributes")
	switch {
	case resource != nil && path != nil:
		const detail = "cannot be specified in combination with resourceAttributes"
		return field.ErrorList{field.Invalid(specPath.Child("nonResourceAttributes"), path, detail)}
	case resource == nil && path == nil:
		const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
		return field.ErrorList{field.Invalid(resourcePath, nil, detail)}
	case resource == nil:
		return nil
	}
	var errs field.ErrorList
	// The wording, with its missing "be", is that of Kubernetes.
	const both = "may not specified at the same time as requirements"
	if s := resource.FieldSelector; s != nil && s.RawSelector != "" && len(s.Requirements) > 0 {
		errs = append(errs, field.Invalid(resourcePath.Child("fieldSelector", "rawSelector"), s.RawSelector, both))
	}
	if s := resource.LabelSelector; s != nil && s.RawSelector != "" && len(s.Requirements) > 0 {
		errs = append(errs, field.Invalid(resourcePath.Child("labelSelector", "rawSelector"), s.RawSelector, both))
	}
	return errs
}

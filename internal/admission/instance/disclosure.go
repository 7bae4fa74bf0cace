package instance

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// Discloses reports whether a user may get an Instance. Only then may a refusal name the
// Instance or show what it contains. It is called only for refused writes.
type Discloses func(ctx context.Context, user authorship.User, instance types.NamespacedName) bool

// ReviewedReaders returns Discloses that asks the API server with a SubjectAccessReview. If the
// API server does not answer, the result is false.
func ReviewedReaders(reviews authorizationclient.SubjectAccessReviewInterface) Discloses {
	return func(ctx context.Context, user authorship.User, instance types.NamespacedName) bool {
		allowed, err := mayGet(ctx, reviews, user, authorizationv1.ResourceAttributes{
			Namespace: instance.Namespace, Name: instance.Name, Resource: instances.Resource,
		})
		return err == nil && allowed
	}
}

// MayGet reports whether a user may get an OperatorVersion. It is called for an OperatorVersion
// of another namespace than that of the Instance: a user that cannot read it could otherwise
// read its templates in what they render.
type MayGet func(ctx context.Context, user authorship.User, version types.NamespacedName) (bool, error)

// ReviewedVersions returns MayGet, which asks the API server with a SubjectAccessReview.
func ReviewedVersions(reviews authorizationclient.SubjectAccessReviewInterface) MayGet {
	return func(ctx context.Context, user authorship.User, version types.NamespacedName) (bool, error) {
		return mayGet(ctx, reviews, user, authorizationv1.ResourceAttributes{
			Namespace: version.Namespace, Name: version.Name, Resource: versions.Resource,
		})
	}
}

// mayGet asks the API server whether a user may get an object of kudo.dev.
func mayGet(
	ctx context.Context, reviews authorizationclient.SubjectAccessReviewInterface, user authorship.User,
	object authorizationv1.ResourceAttributes,
) (bool, error) {
	object.Verb, object.Group, object.Version = "get", api.GroupVersion.Group, api.GroupVersion.Version
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for name, values := range user.Extra {
		extra[name] = values
	}
	review, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra, ResourceAttributes: &object,
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

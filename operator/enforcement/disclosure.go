package enforcement

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/authorship"
)

// Discloses reports whether a user may get an Instance. A refusal shows what the stored
// Instance contains only then. It is called only for a refused update.
type Discloses func(ctx context.Context, user authorship.User, instance types.NamespacedName) bool

// ReviewedReaders returns Discloses for the webhook, which asks the API server with a
// SubjectAccessReview. If the API server does not answer, the user counts as one who may not
// get the Instance.
func ReviewedReaders(reviews authorizationclient.SubjectAccessReviewInterface) Discloses {
	return func(ctx context.Context, user authorship.User, instance types.NamespacedName) bool {
		extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
		for name, values := range user.Extra {
			extra[name] = values
		}
		review, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: instance.Namespace, Name: instance.Name, Verb: "get",
				Group: instances.Group, Version: api.GroupVersion.Version, Resource: instances.Resource,
			},
		}}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed
	}
}

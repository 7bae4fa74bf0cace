package guard

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// rightsFunc reports whether the user of a review has a verb on the object.
type rightsFunc func(ctx context.Context, request *admissionv1.AdmissionRequest, verb string) bool

// reviewedRights asks the API server whether the user of a review has a verb on the object. If the API server does not answer, the
// answer is no. The API server itself has no verb that lifts a rule.
func reviewedRights(reviews authorizationclient.SubjectAccessReviewInterface) rightsFunc {
	return func(ctx context.Context, request *admissionv1.AdmissionRequest, verb string) bool {
		return request.UserInfo.Username != user.APIServerUser &&
			permits(ctx, reviews, request, authorizationv1.ResourceAttributes{Verb: verb})
	}
}

// reviewedReaders asks the API server whether the user of a review may get the object, and then whether
// it may get the subresource that it writes. If the API server does not answer, the answer is no.
func reviewedReaders(reviews authorizationclient.SubjectAccessReviewInterface) func(context.Context, *admissionv1.AdmissionRequest) bool {
	return func(ctx context.Context, request *admissionv1.AdmissionRequest) bool {
		get := authorizationv1.ResourceAttributes{Verb: "get"}
		if permits(ctx, reviews, request, get) {
			return true
		}
		get.Subresource = request.SubResource
		return get.Subresource != "" && permits(ctx, reviews, request, get)
	}
}

// permits asks whether the user of a review has a right on its object.
func permits(
	ctx context.Context, reviews authorizationclient.SubjectAccessReviewInterface, request *admissionv1.AdmissionRequest,
	right authorizationv1.ResourceAttributes,
) bool {
	right.Group, right.Version, right.Resource = request.Resource.Group, request.Resource.Version, request.Resource.Resource
	right.Namespace, right.Name = request.Namespace, request.Name
	return allows(ctx, reviews, request.UserInfo, right)
}

// allows asks whether a user has a right.
func allows(
	ctx context.Context, reviews authorizationclient.SubjectAccessReviewInterface, by authenticationv1.UserInfo,
	right authorizationv1.ResourceAttributes,
) bool {
	extra := make(map[string]authorizationv1.ExtraValue, len(by.Extra))
	for name, values := range by.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	review, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: by.Username, UID: by.UID, Groups: by.Groups, Extra: extra, ResourceAttributes: &right,
	}}, metav1.CreateOptions{})
	return err == nil && review.Status.Allowed
}

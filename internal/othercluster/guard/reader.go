package guard

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// reviewedReaders asks the API server whether the user of a review may get the object, and then whether
// it may get the subresource that it writes. If the API server does not answer, the answer is no.
func reviewedReaders(reviews authorizationclient.SubjectAccessReviewInterface) func(context.Context, *admissionv1.AdmissionRequest) bool {
	return func(ctx context.Context, request *admissionv1.AdmissionRequest) bool {
		by := request.UserInfo
		extra := make(map[string]authorizationv1.ExtraValue, len(by.Extra))
		for name, values := range by.Extra {
			extra[name] = authorizationv1.ExtraValue(values)
		}
		get := authorizationv1.ResourceAttributes{
			Verb: "get", Group: request.Resource.Group, Version: request.Resource.Version, Resource: request.Resource.Resource,
			Namespace: request.Namespace, Name: request.Name,
		}
		permits := func() bool {
			review, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: by.Username, UID: by.UID, Groups: by.Groups, Extra: extra, ResourceAttributes: &get,
			}}, metav1.CreateOptions{})
			return err == nil && review.Status.Allowed
		}
		if permits() {
			return true
		}
		get.Subresource = request.SubResource
		return get.Subresource != "" && permits()
	}
}

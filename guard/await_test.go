package guard_test

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver/servertest"
)

// asks waits until the API server asks the guard about a resource: a dry run of a merge patch that a rule forbids is refused, or has
// a warning. The API server learns of the webhook configuration a moment after the guard has written it.
func (f *fixture) asks(resource, name, patch string, subresources ...string) {
	f.Helper()
	data, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		f.Fatal(err)
	}
	dryRun := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	servertest.Eventually(f.T, "the guard is asked about "+resource, func() bool {
		f.warnings.texts = nil
		_, err := f.of(resource).Patch(f.Context(), name, types.MergePatchType, data, dryRun, subresources...)
		return err != nil || len(f.warnings.texts) > 0
	})
}

// allowed waits until the API server knows that a user has a right.
func (f *fixture) allowed(right authorizationv1.SubjectAccessReviewSpec) {
	f.Helper()
	reviews := f.server.Client(f.T).AuthorizationV1().SubjectAccessReviews()
	servertest.Eventually(f.T, "the rights of "+right.User, func() bool {
		review, err := reviews.Create(f.Context(), &authorizationv1.SubjectAccessReview{Spec: right}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed
	})
}

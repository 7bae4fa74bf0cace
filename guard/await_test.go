package guard_test

import (
	"encoding/json"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// settled waits until the watch cache of the API server has the stored version of an object. The API server judges an update of an
// older version, finds out that it is not the stored one, and judges the update again: it would ask the guard twice.
func (f *fixture) settled(of ownedObject) {
	f.Helper()
	root := f.server.Client(f.T).CoreV1().RESTClient()
	version := func(at string) string {
		read := root.Get().AbsPath(of.path, of.name).SetHeader("Accept", "application/json")
		if at != "" {
			read = read.Param("resourceVersion", at)
		}
		var object metav1.PartialObjectMetadata
		text, err := read.Do(f.Context()).Raw()
		if err == nil {
			err = json.Unmarshal(text, &object)
		}
		if err != nil && (at == "" || !apierrors.IsNotFound(err)) {
			f.Fatal(err)
		}
		return object.ResourceVersion
	}
	servertest.Eventually(f.T, of.name+" in the watch cache", func() bool { return version("0") == version("") })
}

package instance_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/admission/instance"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// TestReviewedReaders checks who may read an Instance by the answer of the API server.
func TestReviewedReaders(t *testing.T) {
	t.Parallel()
	reviews := servertest.Start(t, apiserver.Config{}).Client(t).AuthorizationV1().SubjectAccessReviews()
	discloses := instance.ReviewedReaders(reviews)
	tok := types.NamespacedName{Namespace: "default", Name: "tok"}
	if !discloses(t.Context(), authorship.User{Username: "root", Groups: []string{"system:masters"}}, tok) {
		t.Error("an administrator may not read it")
	}
	if discloses(t.Context(), authorship.User{Username: "bob", Extra: map[string][]string{"a": {"b"}}}, tok) {
		t.Error("a user without roles may read it")
	}
	// The server refuses a review without a user.
	if discloses(t.Context(), authorship.User{}, tok) {
		t.Error("without an answer, the user may read it")
	}
}

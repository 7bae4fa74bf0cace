package servertest

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/waittest"
)

// AwaitRight waits until the server knows that a user has a right. The server reads the rights of users from a cache, a moment
// after a client has written them.
func AwaitRight(t testing.TB, client kubernetes.Interface, user string, right authorizationv1.ResourceAttributes) {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right}}
	waittest.Until(t, fmt.Sprintf("%s may %s %s", user, right.Verb, right.Resource), func() bool {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed
	})
}

package servertest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/waittest"
)

// AwaitAccount waits until a namespace has the service account that pods use by default. A controller creates it after the
// namespace, and a pod that a client creates earlier is refused.
func AwaitAccount(t testing.TB, client kubernetes.Interface, namespace string) {
	t.Helper()
	waittest.Until(t, "the service account default in namespace "+namespace, func() error {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
}

package builtin_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestNodeNames names a node that cannot exist. Admission reads the node before the pod is validated.
func TestNodeNames(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	servertest.AwaitAccount(t, client, "default")
	pods := client.CoreV1().Pods("default")
	pod := func(name, node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
	}
	if _, err := pods.Create(t.Context(), pod("bound", "a/b"), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a pod on the node a/b: %v", err)
	}
	if _, err := pods.Create(t.Context(), pod("free", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "free"}, Target: corev1.ObjectReference{Kind: "Node", Name: "a/b"}}
	if err := pods.Bind(t.Context(), binding, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a binding to the node a/b: %v", err)
	}
}

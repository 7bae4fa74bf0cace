package builtin_test

import (
	"fmt"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/apiserver/sharing"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestSharedPods checks that a pod finds an earlier one to share parts with, and that each pod in the watch cache has its own values all the same.
func TestSharedPods(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	servertest.AwaitAccount(t, client, "default")
	pods := client.CoreV1().Pods("default")
	for i := range 3 {
		pod := yamltest.Decode[corev1.Pod](t, fmt.Sprintf(`
metadata: {name: web-%[1]d, labels: {app: web, number: "%[1]d"}}
spec:
  automountServiceAccountToken: false
  containers: [{name: main, image: registry.example.com/web:1, args: [--number, "%[1]d"]}]
`, i))
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	status := []byte(`{"status":{"phase":"Running","podIP":"10.0.0.1"}}`)
	last, err := pods.Patch(t.Context(), "web-1", types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	// A list at a resourceVersion comes from the watch cache.
	list, err := pods.List(t.Context(), metav1.ListOptions{ResourceVersion: last.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("%d pods, %v", len(list.Items), err)
	}
	for i, pod := range list.Items {
		number := fmt.Sprint(i)
		running := pod.Status.Phase == corev1.PodRunning
		if pod.Labels["number"] != number || pod.Spec.Containers[0].Args[1] != number || pod.Name != "web-"+number || running != (i == 1) {
			t.Errorf("pod %d has the name %s, labels %v, arguments %v and phase %s", i, pod.Name, pod.Labels, pod.Spec.Containers[0].Args, pod.Status.Phase)
		}
	}
	if sharing.New() == nil {
		return // the build has no package sharing
	}
	shared := regexp.MustCompile(`holdfast_cache_hits_total{cache="shared-objects"} [1-9]`)
	waittest.Until(t, "objects share parts", func() error {
		text, err := client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
		if err == nil && !shared.Match(text) {
			err = fmt.Errorf("the metrics have no %s", shared)
		}
		return err
	})
}

package node_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// TestNodeCredentialOnly: what an agent does not need, its credential does not
// allow.
func TestNodeCredentialOnly(t *testing.T) {
	c := startCluster(t)
	c.apply(t, immutableObjects)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.sees(c, t, "web", "conf/app.conf", "one")
	_, err := a.Client.CoreV1().Secrets(c.namespace).Get(t.Context(), "key", metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a secret that no pod of the node uses: %v", err)
	}
	if _, err := a.Client.CoreV1().Pods(c.namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a pod of its own: %v", err)
	}
}

// TestDownwardFollowsThePod: what a pod says of itself is in its files when it
// changes.
func TestDownwardFollowsThePod(t *testing.T) {
	c := startCluster(t)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: me, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}]`))
	a.sees(c, t, "web", "me/labels", "")
	patch := []byte(`{"metadata":{"labels":{"app":"web"}}}`)
	if _, err := c.admin.CoreV1().Pods(c.namespace).Patch(t.Context(), "web", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	a.sees(c, t, "web", "me/labels", `app="web"`)
}

// TestEndsCleanly: an agent that is told to end does, connected or not.
func TestEndsCleanly(t *testing.T) {
	c := startCluster(t)
	credential := c.credential(t, "n1")
	credential.Host = "https://127.0.0.1:1"
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	servertest.Eventually(t, "it tries", func() bool { return a.requests.count("GET") > 0 })
	a.stop(t)
}

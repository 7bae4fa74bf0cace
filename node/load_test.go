package node_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestRecordDamaged: an agent that cannot read what it remembers of a pod leaves
// the files of that pod alone, and those of no other.
func TestRecordDamaged(t *testing.T) {
	for name, damage := range map[string]string{"no JSON": "{", "nothing": "{}"} {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
			credential := c.credential(t, "n1")
			config := node.Config{Name: "n1"}
			a := c.startAgentAs(t, credential, config)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
			a.sees(c, t, "web", "conf/app.conf", "one")
			c.condition(t, "web", "True", "")
			a.stop(t)
			if err := c.admin.CoreV1().ConfigMaps(c.namespace).Delete(t.Context(), "app", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			kept := a.inState(t, "objects")
			if len(kept) != 1 {
				t.Fatalf("content of %v", kept)
			}
			gone := filepath.Join(a.root, "pods/gone/volumes/conf")
			if err := os.MkdirAll(gone, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, uid := range []string{c.uid(t, "web"), "gone", "gone-without-files"} {
				if err := os.WriteFile(filepath.Join(a.root, "state/pods", uid+".json"), []byte(damage), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			config.Root = a.root
			a = c.startAgentAs(t, credential, config)
			c.condition(t, "web", "False", "configmap "+c.namespace+"/app not found")
			a.sees(c, t, "web", "conf/app.conf", "one")
			if diff := cmp.Diff(kept, a.inState(t, "objects")); diff != "" {
				t.Errorf("content (-before +after):\n%s", diff)
			}
			if _, err := os.Lstat(gone); !os.IsNotExist(err) {
				t.Errorf("files of a pod that is gone: %v", err)
			}
			if diff := cmp.Diff([]string{c.uid(t, "web") + ".json"}, a.inState(t, "pods")); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}

			// With a record again, what it is not pinned to is collected.
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
			a.sees(c, t, "web", "conf/app.conf", "two")
			c.condition(t, "web", "True", "")
			a.stop(t)
			a = c.startAgentAs(t, credential, config)
			servertest.Eventually(t, "the lost content is collected", func() bool {
				now := a.inState(t, "objects")
				return len(now) == 1 && now[0] != kept[0]
			})
		})
	}
}

// inState are the names of what an agent keeps.
func (a *agent) inState(t *testing.T, kind string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(a.root, "state", kind))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

package node_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestNodeCredentialOnly checks that the credential of an agent allows only what the agent
// needs.
func TestNodeCredentialOnly(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	_, err := a.Client.CoreV1().Secrets(c.namespace).Get(t.Context(), "key", metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("read a Secret that no pod of the node uses: %v", err)
	}
	mine := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "mine"},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if _, err := a.Client.CoreV1().Pods(c.namespace).Create(t.Context(), mine, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("create a pod: %v", err)
	}
}

// TestDownwardFollowsThePod checks that a downward API volume changes with the labels of the
// pod.
func TestDownwardFollowsThePod(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: me, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}]`))
	a.waitForFile(c, t, "web", "me/labels", "")
	c.patchPod(t, "web", `{"metadata":{"labels":{"app":"web"}}}`)
	a.waitForFile(c, t, "web", "me/labels", `app="web"`)
}

// TestStopWithoutServer checks that an agent that cannot reach its server stops without an error.
func TestStopWithoutServer(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	credential := c.credential(t, "n1")
	credential.Host = "https://127.0.0.1:1"
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	waittest.Until(t, "the agent sends a request", func() bool { return a.requests.count("GET") > 0 })
	a.stop(t)
}

// TestDamagedRecord checks that an agent keeps the files of a running pod if the record of
// the pod is damaged. It also checks that the agent removes files and damaged records of
// pods that no longer exist.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{"no JSON": "{", "no UID": "{}"} {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
			credential := c.credential(t, "n1")
			config := node.Config{Name: "n1"}
			a := c.startAgentAs(t, credential, config)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
			a.waitForFile(c, t, "web", "conf/app.conf", "one")
			c.waitForCondition(t, "web", "True", "")
			a.stop(t)
			c.deleteConfigMap(t, "app")
			kept := a.stateFiles(t, "objects")
			if len(kept) != 1 {
				t.Fatalf("saved objects %v", kept)
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
			c.waitForCondition(t, "web", "False", "configmap "+c.namespace+"/app not found")
			a.waitForFile(c, t, "web", "conf/app.conf", "one")
			if diff := cmp.Diff(kept, a.stateFiles(t, "objects")); diff != "" {
				t.Errorf("saved objects (-before +after):\n%s", diff)
			}
			if _, err := os.Lstat(gone); !os.IsNotExist(err) {
				t.Errorf("files of a pod that no longer exists: %v", err)
			}
			if diff := cmp.Diff([]string{c.uid(t, "web") + ".json"}, a.stateFiles(t, "pods")); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}

			// When all records can be read again, the next start deletes the old object.
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
			a.waitForFile(c, t, "web", "conf/app.conf", "two")
			c.waitForCondition(t, "web", "True", "")
			a.stop(t)
			a = c.startAgentAs(t, credential, config)
			waittest.Until(t, "the old object is deleted", func() bool {
				now := a.stateFiles(t, "objects")
				return len(now) == 1 && now[0] != kept[0]
			})
		})
	}
}

// stateFiles returns the names of the files in a directory of the state, "pods" or "objects".
func (a *agent) stateFiles(t *testing.T, kind string) []string {
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

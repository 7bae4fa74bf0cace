package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// TestRecreatedUnderLoad deletes and recreates an immutable object while pods
// come and agents are restarted: no file of a running pod ever changes, and a
// pod that came after an object gets that one or a later one.
func TestRecreatedUnderLoad(t *testing.T) {
	const generations, nodes = 6, 3
	c := startCluster(t)
	document := func(n int) string {
		return fmt.Sprintf(`{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: "%d"}}`, n)
	}
	c.apply(t, document(0))
	credentials := make([]*rest.Config, nodes)
	configs := make([]node.Config, nodes)
	agents := make([]*agent, nodes)
	for i := range nodes {
		configs[i] = node.Config{Name: fmt.Sprintf("n%d", i), WatchEach: i == 0, Root: t.TempDir()}
		credentials[i] = c.credential(t, configs[i].Name)
		agents[i] = c.startAgentAs(t, credentials[i], configs[i])
	}
	watched := newFileWatch(agents)
	var watching sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	watching.Go(func() { watched.run(ctx) })

	for n := range generations {
		if n > 0 {
			c.recreate(t, "app", document(n))
		}
		for i := range nodes {
			c.apply(t, pod(fmt.Sprintf("web-%d-%d", n, i), configs[i].Name, `[{name: conf, configMap: {name: app}}]`))
		}
		// One of the agents dies in the middle of it.
		victim := n % nodes
		agents[victim].stop(t)
		agents[victim] = c.startAgentAs(t, credentials[victim], configs[victim])
		for i := range nodes {
			name := fmt.Sprintf("web-%d-%d", n, i)
			agents[i].sees(c, t, name, "conf/app.conf", fmt.Sprint(n))
		}
	}
	cancel()
	watching.Wait()
	for _, change := range watched.changes {
		t.Error(change)
	}
	for n := range generations {
		for i := range nodes {
			agents[i].sees(c, t, fmt.Sprintf("web-%d-%d", n, i), "conf/app.conf", fmt.Sprint(n))
		}
	}
}

// fileWatch reads the files of all pods over and over.
type fileWatch struct {
	roots   []string
	seen    map[string]string
	changes []string
}

func newFileWatch(agents []*agent) *fileWatch {
	w := &fileWatch{seen: map[string]string{}}
	for _, a := range agents {
		w.roots = append(w.roots, a.root)
	}
	return w
}

func (w *fileWatch) run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, root := range w.roots {
			files, err := filepath.Glob(filepath.Join(root, "pods/*/volumes/conf/app.conf"))
			if err != nil {
				w.changes = append(w.changes, err.Error())
				return
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				before, had := w.seen[file]
				switch {
				case err != nil && had:
					w.changes = append(w.changes, fmt.Sprintf("%s: said %q, then %v", file, before, err))
				case err == nil && had && before != string(data):
					w.changes = append(w.changes, fmt.Sprintf("%s: said %q, then %q", file, before, data))
				case err == nil:
					w.seen[file] = string(data)
				}
			}
		}
	}
}

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

package node_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/waittest"
)

// filesOf returns the files of a pod below a directory of an agent, its record among them, with what they contain or where they point.
func filesOf(t *testing.T, root, uid string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, uid) {
			return err
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			found[path], err = os.Readlink(path)
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestCollected lets the server delete an old version that no pod uses. The files and the record of a running pod stay as they are, and the agent
// does not write its status.
func TestCollected(t *testing.T) {
	t.Parallel()
	c := clusterOf(t, servertest.Start(t, apiserver.Config{CollectAtLeast: 300 * time.Millisecond}))
	c.apply(t, `
{kind: ConfigMap, metadata: {name: settings-1}, immutable: true, data: {app.conf: one}}
---
{kind: ConfigMap, metadata: {name: settings-2}, immutable: true, data: {app.conf: two}}`)
	a := c.startAgent(t, node.Config{Name: "n1"})
	volume := func(name string) string { return `[{name: conf, configMap: {name: ` + name + `}}]` }
	c.apply(t, pod("old", "n1", volume("settings-1")))
	c.apply(t, pod("web", "n1", volume("settings-2")))
	c.waitForPins(t, "old", c.pin(t, references.ConfigMap, "settings-1"))
	pin := c.pin(t, references.ConfigMap, "settings-2")
	c.waitForPins(t, "web", pin)
	// The agent writes the status of a pod again if it has not seen its own write yet. It has when another pod is ready.
	c.apply(t, pod("after", "n1", volume("settings-2")))
	c.waitForPins(t, "after", pin)
	uid := c.uid(t, "web")
	before := filesOf(t, a.root, uid)
	if len(before) < 4 {
		t.Fatalf("the pod has the files %v", before)
	}
	writes := func() int { return a.requests.count("PATCH", "/namespaces/"+c.namespace+"/pods/web/status") }
	written := writes()

	if err := c.admin.CoreV1().Pods(c.namespace).Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	configMaps := c.admin.CoreV1().ConfigMaps(c.namespace)
	for _, name := range []string{"settings-1", "settings-2"} {
		if _, err := configMaps.Patch(t.Context(), name, types.MergePatchType, []byte(
			`{"metadata":{"labels":{"holdfast.dev/collect":"unused"},"annotations":{"holdfast.dev/collect-after":"0s"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "the old version is collected", func() bool {
		_, err := configMaps.Get(t.Context(), "settings-1", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	// The agent has seen everything that was before when this pod is ready.
	c.apply(t, pod("last", "n1", volume("settings-2")))
	c.waitForPins(t, "last", pin)
	if diff := cmp.Diff(before, filesOf(t, a.root, uid)); diff != "" {
		t.Errorf("the files of a running pod (-before +after):\n%s", diff)
	}
	if got := writes(); got != written {
		t.Errorf("the agent wrote the status of a running pod %d times more", got-written)
	}
	c.waitForPins(t, "web", pin)
}

package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// empty waits until nothing is left of any pod under a root.
func (a *agent) empty(t testing.TB) {
	t.Helper()
	servertest.Eventually(t, "nothing is left of pods", func() bool {
		var left []string
		for _, pattern := range []string{"pods/*", "state/pods/*", "state/objects/*"} {
			found, err := filepath.Glob(filepath.Join(a.root, pattern))
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, found...)
		}
		return len(left) == 0
	})
}

func (c *cluster) gone(t testing.TB, pod string) {
	t.Helper()
	servertest.Eventually(t, "pod "+pod+" is gone", func() bool {
		_, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), pod, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// TestPodDeleted: a plain deletion, with its grace period, ends as soon as the
// files are removed.
func TestPodDeleted(t *testing.T) {
	for name, config := range modes {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, immutableObjects)
			a := c.startAgent(t, config)
			c.apply(t, pod("web", "n1", bothVolumes))
			a.sees(c, t, "web", "key/password", "hunter2")
			// Another pod's hold on the content is not let go of.
			c.apply(t, pod("stays", "n1", bothVolumes))
			a.sees(c, t, "stays", "key/password", "hunter2")
			dir, uid := a.path(c, t, "web", ".."), c.uid(t, "web")
			if err := c.admin.CoreV1().Pods(c.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			c.gone(t, "web")
			if _, err := os.Lstat(dir); !os.IsNotExist(err) {
				t.Errorf("the files of a pod that is gone: %v", err)
			}
			// It was this very pod that the agent ended.
			if all, own := a.requests.count("DELETE", "/pods/web"), a.requests.count("DELETE", "/pods/web", uid); own == 0 || own != all {
				t.Errorf("%d deletions of pod web, %d of them of its UID", all, own)
			}
			a.sees(c, t, "stays", "key/password", "hunter2")
			// One that nobody waits for.
			now := int64(0)
			if err := c.admin.CoreV1().Pods(c.namespace).Delete(t.Context(), "stays", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
				t.Fatal(err)
			}
			c.gone(t, "stays")
			a.empty(t)
		})
	}
}

// TestPodDeletedMeanwhile: what was deleted while no agent ran is removed by the
// next one, and a pod that took the name has its own files.
func TestPodDeletedMeanwhile(t *testing.T) {
	c := startCluster(t)
	c.apply(t, immutableObjects)
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", bothVolumes))
	a.sees(c, t, "web", "key/password", "hunter2")
	c.condition(t, "web", "True", "")
	before := a.path(c, t, "web", "..")
	a.stop(t)
	orphan := filepath.Join(a.root, "pods", "orphan", "volumes", "v")
	if err := os.MkdirAll(orphan, 0o755); err != nil {
		t.Fatal(err)
	}
	now := int64(0)
	if err := c.admin.CoreV1().Pods(c.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	c.apply(t, pod("web", "n1", bothVolumes))
	a = c.startAgentAs(t, credential, node.Config{Name: "n1", Root: a.root})
	a.sees(c, t, "web", "conf/app.conf", "one")
	for _, dir := range []string{before, orphan} {
		servertest.Eventually(t, dir+" is removed", func() bool {
			_, err := os.Lstat(dir)
			return os.IsNotExist(err)
		})
	}
}

// TestFinalizerOfOthers: a pod that somebody else holds loses its files, and is
// left to them.
func TestFinalizerOfOthers(t *testing.T) {
	c := startCluster(t)
	c.apply(t, immutableObjects)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, `{kind: Pod, metadata: {name: web, finalizers: [example.com/hold]}, spec: {nodeName: n1, automountServiceAccountToken: false, volumes: [{name: conf, configMap: {name: app}}]}}`)
	a.sees(c, t, "web", "conf/app.conf", "one")
	if err := c.admin.CoreV1().Pods(c.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	a.empty(t)
	servertest.Eventually(t, "the agent has done its part", func() bool {
		pod, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
	})
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := c.admin.CoreV1().Pods(c.namespace).Patch(t.Context(), "web", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.gone(t, "web")
}

// TestNamespaceDeleted: a namespace with pods on a node goes.
func TestNamespaceDeleted(t *testing.T) {
	c := startCluster(t)
	c.apply(t, immutableObjects)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", bothVolumes))
	a.sees(c, t, "web", "key/password", "hunter2")
	if err := c.admin.CoreV1().Namespaces().Delete(t.Context(), c.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the namespace is gone", func() bool {
		_, err := c.admin.CoreV1().Namespaces().Get(t.Context(), c.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	a.empty(t)
}

// TestUnreferenced: what no pod uses any more is not followed.
func TestUnreferenced(t *testing.T) {
	t.Parallel()
	for name, config := range modes {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}
---
{kind: Secret, metadata: {name: key}, stringData: {password: hunter2}}`)
			a := c.startAgent(t, config)
			for _, name := range []string{"one", "two"} {
				c.apply(t, pod(name, "n1", bothVolumes))
				c.condition(t, name, corev1.ConditionTrue, "")
			}
			watches := func(want float64) {
				t.Helper()
				servertest.Eventually(t, fmt.Sprintf("%v watches are open", want), func() bool { return a.gauge(t, "holdfast_node_open_watches") == want })
			}
			watches(3)
			for _, name := range []string{"one", "two"} {
				if err := c.admin.CoreV1().Pods(c.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				c.gone(t, name)
			}
			watches(1)
			// And it is followed again when it is used again.
			c.apply(t, pod("three", "n1", bothVolumes))
			c.condition(t, "three", corev1.ConditionTrue, "")
			watches(3)
			c.setData(t, "app", "two", "")
			a.sees(c, t, "three", "conf/app.conf", "two")
		})
	}
}

// TestOneWatchForEachKind: with a server that knows the selector, an agent has
// three watches, however many objects there are.
func TestOneWatchForEachKind(t *testing.T) {
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}
---
{kind: ConfigMap, metadata: {name: other}, data: {app.conf: one}}
---
{kind: Secret, metadata: {name: key}, stringData: {password: hunter2}}`)
	a := c.startAgent(t, node.Config{Name: "n1"})
	for _, name := range []string{"one", "two"} {
		c.apply(t, pod(name, "n1", bothVolumes))
		c.apply(t, pod(name+"-other", "n1", `[{name: conf, configMap: {name: other}}]`))
	}
	for _, name := range []string{"one", "two", "one-other", "two-other"} {
		c.condition(t, name, corev1.ConditionTrue, "")
	}
	servertest.Eventually(t, "three watches are open", func() bool { return a.gauge(t, "holdfast_node_open_watches") == 3 })
	if got := a.requests.count("metadata.name%3D"); got != 0 {
		t.Errorf("%d requests for single objects", got)
	}
	if got := a.gauge(t, "holdfast_node_objects_in_use", "configmap", "watched"); got != 2 {
		t.Errorf("%v config maps in use", got)
	}
}

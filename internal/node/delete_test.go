package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// waitForEmptyRoot waits until the root has no files, records or objects of any pod.
func (a *agent) waitForEmptyRoot(t testing.TB) {
	t.Helper()
	waittest.Until(t, "nothing is left of pods", func() bool {
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

// waitForDeletion waits until a pod no longer exists.
func (c *cluster) waitForDeletion(t testing.TB, pod string) {
	t.Helper()
	waittest.Until(t, "pod "+pod+" is gone", func() bool {
		_, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), pod, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// TestPodDeleted checks that the agent ends the deletion of a pod when its files are removed.
func TestPodDeleted(t *testing.T) {
	t.Parallel()
	for name, config := range modes {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, immutableObjects)
			a := c.startAgent(t, config)
			c.apply(t, pod("web", "n1", bothVolumes))
			a.waitForFile(c, t, "web", "key/password", "hunter2")
			// A second pod uses the same objects; they must stay when the first pod goes.
			c.apply(t, pod("stays", "n1", bothVolumes))
			a.waitForFile(c, t, "stays", "key/password", "hunter2")
			dir, uid := a.path(c, t, "web", ".."), c.uid(t, "web")
			c.registered(t, a)
			c.deletePod(t, "web")
			c.waitForDeletion(t, "web")
			if _, err := os.Lstat(dir); !os.IsNotExist(err) {
				t.Errorf("the files of a deleted pod: %v", err)
			}
			// The agent deleted the pod with its UID as precondition.
			if all, own := a.requests.count("DELETE", "/pods/web"), a.requests.count("DELETE", "/pods/web", uid); own == 0 || own != all {
				t.Errorf("%d deletions of pod web, %d of them with its UID", all, own)
			}
			a.waitForFile(c, t, "stays", "key/password", "hunter2")
			c.deletePodNow(t, "stays")
			c.waitForDeletion(t, "stays")
			a.waitForEmptyRoot(t)
		})
	}
}

// TestGracePeriod checks that the files of a deleted pod stay, and are updated, until its grace
// period ends.
func TestGracePeriod(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	clock := clocktesting.NewFakeClock(time.Now())
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1", Clock: clock})
	c.apply(t, `{kind: Pod, metadata: {name: web}, spec: {nodeName: n1, automountServiceAccountToken: false, `+
		`terminationGracePeriodSeconds: 3600, volumes: [{name: conf, configMap: {name: app}}]}}`)
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	c.registered(t, a)
	c.deletePod(t, "web")
	c.setData(t, "app", "two")
	a.waitForFile(c, t, "web", "conf/app.conf", "two")
	if got := a.requests.count("DELETE"); got != 0 {
		t.Errorf("%d deletions during the grace period", got)
	}
	c.waitForCondition(t, "web", "True", "")
	waittest.Until(t, "the pod is gone after its grace period", func() bool {
		clock.Step(time.Minute)
		_, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	a.waitForEmptyRoot(t)
}

// TestFinishedPod checks that the files of a pod that succeeded stay for FinishedTTL, that the
// condition then says that they are removed, and that a restarted agent does not write them again.
func TestFinishedPod(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	clock := clocktesting.NewFakeClock(time.Now())
	c.apply(t, immutableObjects)
	credential := c.credential(t, "n1")
	config := node.Config{Name: "n1", Clock: clock, FinishedTTL: time.Hour}
	a := c.startAgentAs(t, credential, config)
	c.apply(t, pod("web", "n1", bothVolumes))
	c.waitForCondition(t, "web", "True", "")
	succeeded := []byte(`{"status":{"phase":"Succeeded"}}`)
	_, err := c.admin.CoreV1().Pods(c.namespace).Patch(t.Context(), "web", types.MergePatchType, succeeded, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	dir := a.path(c, t, "web", "..")
	waittest.Until(t, "the agent has seen the end of the pod", func() bool {
		saved, err := filepath.Glob(filepath.Join(a.root, "state/pods/*.json"))
		if err != nil || len(saved) != 1 {
			return false
		}
		data, err := os.ReadFile(saved[0])
		return err == nil && strings.Contains(string(data), `"finished":`)
	})
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the files did not stay: %v", err)
	}
	waittest.Until(t, "the files are removed", func() bool {
		clock.Step(time.Minute)
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
	c.waitForCondition(t, "web", "False", "the pod has finished, and its files are removed")
	a.stop(t)
	config.Root = a.root
	a = c.startAgentAs(t, credential, config)
	c.apply(t, pod("next", "n1", bothVolumes))
	a.waitForFile(c, t, "next", "conf/app.conf", "one")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the files are back: %v", err)
	}
}

// TestUnsupportedVolumes checks that the condition names the volumes that the agent does not write.
func TestUnsupportedVolumes(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, `{kind: Pod, metadata: {name: web}, spec: {nodeName: n1, automountServiceAccountToken: false, `+
		`containers: [{name: c, image: i, volumeMounts: [{name: conf, mountPath: /etc, subPath: app.conf}]}], `+
		`volumes: [{name: conf, configMap: {name: app}}, {name: cache, emptyDir: {}}, {name: host, hostPath: {path: /}}, `+
		`{name: csi, csi: {driver: d}}]}}`)
	c.waitForCondition(t, "web", "False", "volume cache: this agent does not provide volumes of type emptyDir\n"+
		"volume host: this agent does not provide volumes of type hostPath\n"+
		"volume csi: this agent does not provide volumes of type csi\n"+
		"volume conf: this agent does not provide the subPath in container c")
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
}

// TestPodDeletedWhileStopped checks that a new agent removes the files of pods that were
// deleted while no agent ran, and that a new pod with the same name gets its own files.
func TestPodDeletedWhileStopped(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", bothVolumes))
	a.waitForFile(c, t, "web", "key/password", "hunter2")
	c.waitForCondition(t, "web", "True", "")
	before := a.path(c, t, "web", "..")
	a.stop(t)
	orphan := filepath.Join(a.root, "pods", "orphan", "volumes", "v")
	if err := os.MkdirAll(orphan, 0o755); err != nil {
		t.Fatal(err)
	}
	c.deletePodNow(t, "web")
	c.apply(t, pod("web", "n1", bothVolumes))
	a = c.startAgentAs(t, credential, node.Config{Name: "n1", Root: a.root})
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	for _, dir := range []string{before, orphan} {
		waittest.Until(t, dir+" is removed", func() bool {
			_, err := os.Lstat(dir)
			return os.IsNotExist(err)
		})
	}
}

// TestPodWithFinalizer checks that the agent removes the files of a deleted pod that has a
// finalizer, and that the pod itself stays until the finalizer is removed.
func TestPodWithFinalizer(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, `{kind: Pod, metadata: {name: web, finalizers: [example.com/hold]}, `+
		`spec: {nodeName: n1, automountServiceAccountToken: false, volumes: [{name: conf, configMap: {name: app}}]}}`)
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	c.deletePod(t, "web")
	a.waitForEmptyRoot(t)
	c.waitForCondition(t, "web", "False", "the pod is being deleted, and its files are removed")
	waittest.Until(t, "the agent has deleted the pod with a grace period of 0", func() bool {
		pod, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
	})
	c.patchPod(t, "web", `{"metadata":{"finalizers":null}}`)
	c.waitForDeletion(t, "web")
}

// TestNamespaceDeleted checks that the deletion of a namespace with pods on a node completes.
func TestNamespaceDeleted(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", bothVolumes))
	a.waitForFile(c, t, "web", "key/password", "hunter2")
	if err := c.admin.CoreV1().Namespaces().Delete(t.Context(), c.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the namespace is gone", func() bool {
		_, err := c.admin.CoreV1().Namespaces().Get(t.Context(), c.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	a.waitForEmptyRoot(t)
}

// TestWatchesOfUnusedObjects checks that the agent closes the watches of objects that no pod
// uses any more, and opens them again when a pod uses them.
func TestWatchesOfUnusedObjects(t *testing.T) {
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
				c.waitForCondition(t, name, corev1.ConditionTrue, "")
			}
			watches := func(want float64) {
				t.Helper()
				waittest.Until(t, fmt.Sprintf("%v watches are open", want), func() bool {
					return a.gauge(t, "holdfast_node_open_watches") == want
				})
			}
			watches(3)
			for _, name := range []string{"one", "two"} {
				c.deletePod(t, name)
				c.waitForDeletion(t, name)
			}
			watches(1)
			c.apply(t, pod("three", "n1", bothVolumes))
			c.waitForCondition(t, "three", corev1.ConditionTrue, "")
			watches(3)
			c.setData(t, "app", "two")
			a.waitForFile(c, t, "three", "conf/app.conf", "two")
		})
	}
}

// TestOneWatchForEachKind checks that an agent of a Holdfast server has three watches, however
// many objects its pods use: one each for pods, ConfigMaps and Secrets.
func TestOneWatchForEachKind(t *testing.T) {
	t.Parallel()
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
		c.waitForCondition(t, name, corev1.ConditionTrue, "")
	}
	waittest.Until(t, "three watches are open", func() bool { return a.gauge(t, "holdfast_node_open_watches") == 3 })
	if got := a.requests.count("metadata.name%3D"); got != 0 {
		t.Errorf("%d requests for single objects", got)
	}
	if got := a.gauge(t, "holdfast_node_objects_in_use", "configmap", "watched"); got != 2 {
		t.Errorf("%v config maps in use", got)
	}
}

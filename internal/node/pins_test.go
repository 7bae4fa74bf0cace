package node_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/waittest"
)

// conditions returns the messages of the conditions of a pod that are true.
func (c *cluster) conditions(t testing.TB, pod string) map[corev1.PodConditionType]string {
	t.Helper()
	obj, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	messages := map[corev1.PodConditionType]string{}
	for _, condition := range obj.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			messages[condition.Type] = condition.Message
		}
	}
	return messages
}

// waitForPins waits until a pod has a condition with these pins, or none if there are no pins.
func (c *cluster) waitForPins(t testing.TB, pod string, pins ...references.Pin) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("pod %s has the pins %v", pod, pins), func() error {
		message, found := c.conditions(t, pod)[references.Pinned]
		if want := references.FormatPins(pins); message != want || found != (want != "") {
			return errors.New("the condition says " + message)
		}
		return nil
	})
}

// pin returns the pin of the object that exists now.
func (c *cluster) pin(t testing.TB, kind references.Kind, name string) references.Pin {
	t.Helper()
	var object metav1.Object
	var err error
	if kind == references.Secret {
		object, err = c.admin.CoreV1().Secrets(c.namespace).Get(t.Context(), name, metav1.GetOptions{})
	} else {
		object, err = c.admin.CoreV1().ConfigMaps(c.namespace).Get(t.Context(), name, metav1.GetOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return references.Pin{Kind: kind, Name: name, UID: object.GetUID()}
}

// TestPins checks that the condition of a pod names the immutable objects whose content the pod has: those it started with, if they were
// deleted or created again, too. The agent writes it together with the condition VolumesReady, and not again.
func TestPins(t *testing.T) {
	t.Parallel()
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, immutableObjects+`
---
{kind: ConfigMap, metadata: {name: mutable}, data: {app.conf: "1"}}`)
			credential := c.credential(t, "n1")
			a := c.startAgentAs(t, credential, config)
			writes := func(pod string) int {
				return a.requests.count("PATCH", "/namespaces/"+c.namespace+"/pods/"+pod+"/status")
			}
			const volumes = `[{name: conf, configMap: {name: app}}, {name: key, secret: {secretName: key}}, {name: mutable, configMap: {name: mutable}}]`
			c.apply(t, pod("web", "n1", volumes))
			c.waitForCondition(t, "web", "True", "")
			app, key := c.pin(t, references.ConfigMap, "app"), c.pin(t, references.Secret, "key")
			c.waitForPins(t, "web", app, key)
			// An agent that has not read all objects yet writes that first. It may write a condition twice if it syncs a pod before its watch
			// has the first write. The watch has that when it has a pod that was created later.
			seen := func(later string) {
				c.apply(t, pod(later, "n1", `[{name: mutable, configMap: {name: mutable}}]`))
				c.waitForCondition(t, later, "True", "")
			}
			seen("after-web")
			first := writes("web")

			// Another client has a condition of its own there.
			if _, err := c.admin.CoreV1().Pods(c.namespace).Patch(t.Context(), "web", types.StrategicMergePatchType,
				[]byte(`{"status":{"conditions":[{"type":"example.com/Other","status":"True","message":"other"}]}}`), metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(err)
			}
			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
			c.setData(t, "mutable", "2")
			a.waitForFile(c, t, "web", "mutable/app.conf", "2")
			c.apply(t, pod("new", "n1", volumes))
			newer := c.pin(t, references.ConfigMap, "app")
			c.waitForPins(t, "new", newer, key)
			c.waitForPins(t, "web", app, key)
			if got := writes("web"); got != first {
				t.Errorf("the agent wrote the status %d times more, although the pins are the same", got-first)
			}

			c.deleteConfigMap(t, "app")
			a.stop(t)
			config.Root = a.root
			a = c.startAgentAs(t, credential, config)
			// The pods without a change are synced before the new one.
			c.apply(t, pod("last", "n1", `[{name: mutable, configMap: {name: mutable}}]`))
			c.waitForCondition(t, "last", "True", "")
			seen("after-last")
			ready := writes("last")
			c.setData(t, "mutable", "3")
			for _, pod := range []string{"web", "new", "last"} {
				a.waitForFile(c, t, pod, "mutable/app.conf", "3")
			}
			c.waitForPins(t, "web", app, key)
			c.waitForPins(t, "new", newer, key)
			c.waitForPins(t, "last")
			for pod, want := range map[string]int{"web": 0, "new": 0, "last": ready} {
				if got := writes(pod); got != want {
					t.Errorf("after a restart, the agent wrote the status of %s %d times, want %d", pod, got, want)
				}
			}

			// A pod that has ended loses its files, and so its pins.
			if _, err := c.admin.CoreV1().Pods(c.namespace).Patch(t.Context(), "web", types.MergePatchType,
				[]byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(err)
			}
			c.waitForPins(t, "web")
			if got := c.conditions(t, "web")["example.com/Other"]; got != "other" {
				t.Errorf("the condition of another client is %q", got)
			}
			if got := writes("web"); got != 1 {
				t.Errorf("the agent wrote the status %d times after the end of the pod", got)
			}
		})
	}
}

// TestPinsWithoutFeature checks that an agent that pins nothing removes the condition of an agent that did.
func TestPinsWithoutFeature(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", bothVolumes))
	c.waitForPins(t, "web", c.pin(t, references.ConfigMap, "app"), c.pin(t, references.Secret, "key"))
	a.stop(t)
	c.startAgentAs(t, credential, node.Config{Name: "n1", Root: a.root, WatchImmutable: true})
	c.waitForPins(t, "web")
}

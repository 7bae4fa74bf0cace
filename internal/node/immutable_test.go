package node_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// pinning are the modes in which pods are pinned to immutable objects.
var pinning = map[string]node.Config{
	"one watch for all": {Name: "n1"},
	"a watch for each":  {Name: "n1", WatchEach: true},
}

const immutableObjects = `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}
---
{kind: Secret, metadata: {name: key}, immutable: true, stringData: {password: hunter2}}`

const bothVolumes = `[{name: conf, configMap: {name: app}}, {name: key, secret: {secretName: key}}]`

// TestImmutableIsReadOnce counts the requests for an immutable object. The agent reads the
// content for the first pod, only the metadata for each other pod, and nothing after a restart.
func TestImmutableIsReadOnce(t *testing.T) {
	t.Parallel()
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, immutableObjects)
			credential := c.credential(t, "n1")
			a := c.startAgentAs(t, credential, config)
			// reads counts the requests for one object by name, without lists and watches.
			reads := func(what, object string) int {
				path := "/namespaces/" + c.namespace + "/" + object
				return a.requests.count("GET "+what, path) - a.requests.count("GET "+what, path+"?")
			}
			for i := range 4 {
				name := fmt.Sprintf("web-%d", i)
				c.apply(t, pod(name, "n1", bothVolumes))
				a.waitForFile(c, t, name, "conf/app.conf", "one")
				a.waitForFile(c, t, name, "key/password", "hunter2")
				c.waitForCondition(t, name, "True", "")
			}
			for _, object := range []string{"configmaps/app", "secrets/key"} {
				// More than one is possible: the server rejects the request as long as it does
				// not know of the first pod.
				if got := reads("full", object); got < 1 {
					t.Errorf("%s: read %d times", object, got)
				}
				if got := reads("metadata", object); got != 3 {
					t.Errorf("%s: its metadata was read %d times, for 3 pods after the first", object, got)
				}
				if got := a.requests.count("watch", "metadata.name%3D"+object[len(object)-3:]); got != 0 {
					t.Errorf("%s: watched %d times", object, got)
				}
			}
			waittest.Until(t, "only pods are watched", func() bool { return a.gauge(t, "holdfast_node_open_watches") == 1 })
			if got := a.gauge(t, "holdfast_node_objects_in_use", "configmap", "immutable"); got != 1 {
				t.Errorf("%v config maps in use", got)
			}
			if got := a.gauge(t, "holdfast_node_projected_volumes"); got != 8 {
				t.Errorf("%v volumes", got)
			}

			a.stop(t)
			config.Root = a.root
			a = c.startAgentAs(t, credential, config)
			// A new pod is synced after all others, so the restart is complete when it is ready.
			c.apply(t, `{kind: ConfigMap, metadata: {name: last}, data: {x: "1"}}`)
			c.apply(t, pod("last", "n1", `[{name: v, configMap: {name: last}}]`))
			a.waitForFile(c, t, "last", "v/x", "1")
			for _, object := range []string{"configmaps/app", "secrets/key"} {
				if got := a.requests.count("namespaces/" + c.namespace + "/" + object); got != 0 {
					t.Errorf("%s: requested %d times after a restart", object, got)
				}
			}
		})
	}
}

// TestBecomesImmutable checks that a pod is pinned to an object that becomes immutable, and that
// the agent stops watching it.
func TestBecomesImmutable(t *testing.T) {
	t.Parallel()
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
			a := c.startAgent(t, config)
			a.waitForFile(c, t, "web", "conf/app.conf", "one")
			c.updateConfigMap(t, "app", func(object *corev1.ConfigMap) {
				object.Data = map[string]string{"app.conf": "two"}
				object.Immutable = ptr.To(true)
			})
			a.waitForFile(c, t, "web", "conf/app.conf", "two")
			waittest.Until(t, "the object is pinned", func() bool {
				return a.gauge(t, "holdfast_node_objects_in_use", "configmap", "immutable") == 1 &&
					a.gauge(t, "holdfast_node_objects_in_use", "configmap", "watched") == 0
			})
			waittest.Until(t, "only pods are watched", func() bool { return a.gauge(t, "holdfast_node_open_watches") == 1 })
		})
	}
}

// TestImmutableRecreated checks that a running pod keeps the content of an immutable object that
// was deleted and created again, also after a restart of the agent. A new pod gets the new
// content.
func TestImmutableRecreated(t *testing.T) {
	t.Parallel()
	const volumes = `[{name: conf, configMap: {name: app}}, ` +
		`{name: all, projected: {sources: [{configMap: {name: app}}, {configMap: {name: other}}]}}]`
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}
---
{kind: ConfigMap, metadata: {name: other}, data: {app2: other}}`)
			credential := c.credential(t, "n1")
			a := c.startAgentAs(t, credential, config)
			c.apply(t, pod("old", "n1", volumes))
			a.waitForFile(c, t, "old", "conf/app.conf", "one")
			a.waitForFile(c, t, "old", "all/app.conf", "one")
			c.waitForCondition(t, "old", "True", "")

			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
			c.apply(t, pod("new", "n1", volumes))
			a.waitForFile(c, t, "new", "conf/app.conf", "two")
			a.waitForFile(c, t, "old", "conf/app.conf", "one")

			a.stop(t)
			config.Root = a.root
			a = c.startAgentAs(t, credential, config)
			c.apply(t, pod("newer", "n1", volumes))
			a.waitForFile(c, t, "newer", "conf/app.conf", "two")
			// The content is saved on this node, so only the metadata was read.
			for what, want := range map[string]int{"full": 0, "metadata": 1} {
				if got := a.requests.count("GET "+what, "/namespaces/"+c.namespace+"/configmaps/app"); got != want {
					t.Errorf("%s: requested %d times, want %d", what, got, want)
				}
			}
			// A mutable object in the same volume still changes; the immutable one stays.
			c.updateConfigMap(t, "other", func(object *corev1.ConfigMap) { object.Data["app2"] = "changed" })
			for pod, want := range map[string]string{"old": "one", "new": "two", "newer": "two"} {
				a.waitForFile(c, t, pod, "all/app2", "changed")
				a.waitForFile(c, t, pod, "all/app.conf", want)
				a.waitForFile(c, t, pod, "conf/app.conf", want)
			}
			waittest.Until(t, "both immutable objects are in use", func() bool {
				return a.gauge(t, "holdfast_node_objects_in_use", "configmap", "immutable") == 2
			})
		})
	}
}

// TestImmutableDeleted checks that a pod keeps the content of an immutable object that was
// deleted, also if the object is optional, and also after a restart of the agent.
func TestImmutableDeleted(t *testing.T) {
	t.Parallel()
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
			credential := c.credential(t, "n1")
			a := c.startAgentAs(t, credential, config)
			c.apply(t, pod("web", "n1", `[{name: must, configMap: {name: app}}, {name: may, configMap: {name: app, optional: true}}]`))
			c.waitForCondition(t, "web", "True", "")
			c.deleteConfigMap(t, "app")
			a.stop(t)
			config.Root = a.root
			a = c.startAgentAs(t, credential, config)
			// A new pod does not get the deleted object.
			c.apply(t, pod("late", "n1", `[{name: conf, configMap: {name: app}}]`))
			c.waitForCondition(t, "late", "False", "configmap "+c.namespace+"/app not found")
			for _, volume := range []string{"must", "may"} {
				a.waitForFile(c, t, "web", volume+"/app.conf", "one")
			}
			c.waitForCondition(t, "web", "True", "")
		})
	}
}

// TestMutableRecreated checks that a pod gets the new content of a mutable object that was
// deleted and created again, until it gets an immutable one, to which it is pinned.
func TestMutableRecreated(t *testing.T) {
	t.Parallel()
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
			a := c.startAgent(t, config)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
			a.waitForFile(c, t, "web", "conf/app.conf", "one")
			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: two}}`)
			a.waitForFile(c, t, "web", "conf/app.conf", "two")
			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: three}}`)
			a.waitForFile(c, t, "web", "conf/app.conf", "three")
			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: four}}`)
			c.apply(t, pod("new", "n1", `[{name: conf, configMap: {name: app}}]`))
			a.waitForFile(c, t, "new", "conf/app.conf", "four")
			a.waitForFile(c, t, "web", "conf/app.conf", "three")
		})
	}
}

// TestWatchImmutable checks that an agent with WatchImmutable watches an immutable object like
// any other.
func TestWatchImmutable(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1", WatchImmutable: true})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	waittest.Until(t, "the object is watched", func() bool {
		return a.requests.count("watch=true", "metadata.name%3Dapp") > 0
	})
	c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
	a.waitForFile(c, t, "web", "conf/app.conf", "two")
}

// TestSwitchWatchImmutable checks that an agent that is restarted with WatchImmutable watches the
// objects to which its pods were pinned, and that one restarted without it pins them again.
func TestSwitchWatchImmutable(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	restart := func(config node.Config) {
		t.Helper()
		a.stop(t)
		config.Name, config.Root = "n1", a.root
		a = c.startAgentAs(t, credential, config)
	}
	inUse := func(mode string) func() bool {
		return func() bool { return a.gauge(t, "holdfast_node_objects_in_use", "configmap", mode) == 1 }
	}
	waittest.Until(t, "the object is pinned", inUse("immutable"))
	restart(node.Config{WatchImmutable: true})
	waittest.Until(t, "the object is watched", inUse("watched"))
	c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
	a.waitForFile(c, t, "web", "conf/app.conf", "two")
	c.waitForCondition(t, "web", "True", "")

	restart(node.Config{})
	waittest.Until(t, "the object is pinned again", inUse("immutable"))
	c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: three}}`)
	c.apply(t, pod("new", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "new", "conf/app.conf", "three")
	a.waitForFile(c, t, "web", "conf/app.conf", "two")
	if got := a.requests.count("watch", "metadata.name%3Dapp"); got != 0 {
		t.Errorf("watched %d times", got)
	}
}

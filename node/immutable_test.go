package node_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// pinning are the ways to follow objects in which immutable ones are pinned.
var pinning = map[string]node.Config{
	"one watch for all": {Name: "n1"},
	"a watch for each":  {Name: "n1", WatchEach: true},
}

const immutableObjects = `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}
---
{kind: Secret, metadata: {name: key}, immutable: true, stringData: {password: hunter2}}`

const bothVolumes = `[{name: conf, configMap: {name: app}}, {name: key, secret: {secretName: key}}]`

// TestImmutableIsReadOnce counts what an agent asks for: the content once, for
// each new pod whether it is still that content, and nothing after a restart.
func TestImmutableIsReadOnce(t *testing.T) {
	t.Parallel()
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, immutableObjects)
			credential := c.credential(t, "n1")
			a := c.startAgentAs(t, credential, config)
			reads := func(what, object string) int {
				return a.requests.count("GET "+what, "/namespaces/"+c.namespace+"/"+object) - a.requests.count("GET "+what, "/namespaces/"+c.namespace+"/"+object+"?")
			}
			for i := range 4 {
				pods := fmt.Sprintf("web-%d", i)
				c.apply(t, pod(pods, "n1", bothVolumes))
				a.sees(c, t, pods, "conf/app.conf", "one")
				a.sees(c, t, pods, "key/password", "hunter2")
				c.condition(t, pods, "True", "")
			}
			for _, object := range []string{"configmaps/app", "secrets/key"} {
				// A server that learns of the first pod after its node refuses.
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
			// Nothing is left to watch but pods.
			servertest.Eventually(t, "no objects are watched", func() bool { return a.gauge(t, "holdfast_node_open_watches") == 1 })
			if got := a.gauge(t, "holdfast_node_objects_in_use", "configmap", "immutable"); got != 1 {
				t.Errorf("%v config maps in use", got)
			}
			if got := a.gauge(t, "holdfast_node_projected_volumes"); got != 8 {
				t.Errorf("%v volumes", got)
			}

			a.stop(t)
			config.Root = a.root
			a = c.startAgentAs(t, credential, config)
			// It is done with what it found when it does something new.
			c.apply(t, `{kind: ConfigMap, metadata: {name: last}, data: {x: "1"}}`)
			c.apply(t, pod("last", "n1", `[{name: v, configMap: {name: last}}]`))
			a.sees(c, t, "last", "v/x", "1")
			for _, object := range []string{"configmaps/app", "secrets/key"} {
				if got := a.requests.count("namespaces/" + c.namespace + "/" + object); got != 0 {
					t.Errorf("%s: asked for %d times after a restart", object, got)
				}
			}
		})
	}
}

// TestTurnsImmutable: an object that turns immutable is pinned as it turned.
func TestTurnsImmutable(t *testing.T) {
	t.Parallel()
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
			a := c.startAgent(t, config)
			a.sees(c, t, "web", "conf/app.conf", "one")
			c.setData(t, "app", "two", "immutable")
			a.sees(c, t, "web", "conf/app.conf", "two")
			servertest.Eventually(t, "the object is pinned", func() bool {
				return a.gauge(t, "holdfast_node_objects_in_use", "configmap", "immutable") == 1 &&
					a.gauge(t, "holdfast_node_objects_in_use", "configmap", "watched") == 0
			})
			servertest.Eventually(t, "no watch but that of pods is open", func() bool { return a.gauge(t, "holdfast_node_open_watches") == 1 })
		})
	}
}

// setData changes the one key of a config map, and makes it immutable with it if
// how says so.
func (c *cluster) setData(t testing.TB, name, value, how string) {
	t.Helper()
	maps := c.admin.CoreV1().ConfigMaps(c.namespace)
	object, err := maps.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.Data = map[string]string{"app.conf": value}
	if how == "immutable" {
		immutable := true
		object.Immutable = &immutable
	}
	if _, err := maps.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// recreate deletes a config map and creates it anew.
func (c *cluster) recreate(t testing.TB, name, document string) {
	t.Helper()
	if err := c.admin.CoreV1().ConfigMaps(c.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.apply(t, document)
}

// TestRecreated: a running pod keeps what it started with where that was
// immutable, across restarts; a new pod gets what there is now.
func TestRecreated(t *testing.T) {
	const volumes = `[{name: conf, configMap: {name: app}}, {name: all, projected: {sources: [{configMap: {name: app}}, {configMap: {name: other}}]}}]`
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}
---
{kind: ConfigMap, metadata: {name: other}, data: {app2: other}}`)
			credential := c.credential(t, "n1")
			a := c.startAgentAs(t, credential, config)
			c.apply(t, pod("old", "n1", volumes))
			a.sees(c, t, "old", "conf/app.conf", "one")
			a.sees(c, t, "old", "all/app.conf", "one")
			c.condition(t, "old", "True", "")

			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
			c.apply(t, pod("new", "n1", volumes))
			a.sees(c, t, "new", "conf/app.conf", "two")
			a.sees(c, t, "old", "conf/app.conf", "one")

			a.stop(t)
			config.Root = a.root
			a = c.startAgentAs(t, credential, config)
			c.apply(t, pod("newer", "n1", volumes))
			a.sees(c, t, "newer", "conf/app.conf", "two")
			// The content is on this node already, and only that it is the same was asked.
			for what, want := range map[string]int{"full": 0, "metadata": 1} {
				if got := a.requests.count("GET "+what, "/namespaces/"+c.namespace+"/configmaps/app"); got != want {
					t.Errorf("%s: asked for %d times, want %d", what, got, want)
				}
			}
			// What is mutable beside it still changes, and leaves it alone.
			other, err := c.admin.CoreV1().ConfigMaps(c.namespace).Get(t.Context(), "other", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			other.Data["app2"] = "changed"
			if _, err := c.admin.CoreV1().ConfigMaps(c.namespace).Update(t.Context(), other, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			for pod, want := range map[string]string{"old": "one", "new": "two", "newer": "two"} {
				a.sees(c, t, pod, "all/app2", "changed")
				a.sees(c, t, pod, "all/app.conf", want)
				a.sees(c, t, pod, "conf/app.conf", want)
			}
			// Both contents are in use.
			servertest.Eventually(t, "two immutable objects", func() bool {
				return a.gauge(t, "holdfast_node_objects_in_use", "configmap", "immutable") == 2
			})
		})
	}
}

// TestImmutableDeleted: what a pod started with stays when it is deleted for
// good, also where it was optional, and through a restart.
func TestImmutableDeleted(t *testing.T) {
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
			credential := c.credential(t, "n1")
			a := c.startAgentAs(t, credential, config)
			c.apply(t, pod("web", "n1", `[{name: must, configMap: {name: app}}, {name: may, configMap: {name: app, optional: true}}]`))
			c.condition(t, "web", "True", "")
			if err := c.admin.CoreV1().ConfigMaps(c.namespace).Delete(t.Context(), "app", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			a.stop(t)
			config.Root = a.root
			a = c.startAgentAs(t, credential, config)
			// A new pod does not get it.
			c.apply(t, pod("late", "n1", `[{name: conf, configMap: {name: app}}]`))
			c.condition(t, "late", "False", "configmap "+c.namespace+"/app not found")
			for _, volume := range []string{"must", "may"} {
				a.sees(c, t, "web", volume+"/app.conf", "one")
			}
			c.condition(t, "web", "True", "")
		})
	}
}

// TestMutableRecreated: a mutable object is followed into the next of its name,
// and if that is immutable it is the last.
func TestMutableRecreated(t *testing.T) {
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
			a := c.startAgent(t, config)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
			a.sees(c, t, "web", "conf/app.conf", "one")
			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: two}}`)
			a.sees(c, t, "web", "conf/app.conf", "two")
			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: three}}`)
			a.sees(c, t, "web", "conf/app.conf", "three")
			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: four}}`)
			c.apply(t, pod("new", "n1", `[{name: conf, configMap: {name: app}}]`))
			a.sees(c, t, "new", "conf/app.conf", "four")
			a.sees(c, t, "web", "conf/app.conf", "three")
		})
	}
}

// TestImmutableWatchedWithoutTheFeature: with the feature off an immutable
// object is followed like any other.
func TestImmutableWatchedWithoutTheFeature(t *testing.T) {
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1", WatchImmutable: true})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.sees(c, t, "web", "conf/app.conf", "one")
	servertest.Eventually(t, "the object is watched", func() bool {
		return a.requests.count("watch=true", "metadata.name%3Dapp") > 0
	})
	c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
	a.sees(c, t, "web", "conf/app.conf", "two")
}

// TestFeatureSwitched: an agent that is started without the feature follows what
// its pods were pinned to, and with it again pins what there is then.
func TestFeatureSwitched(t *testing.T) {
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.sees(c, t, "web", "conf/app.conf", "one")
	restart := func(config node.Config) {
		t.Helper()
		a.stop(t)
		config.Name, config.Root = "n1", a.root
		a = c.startAgentAs(t, credential, config)
	}
	inUse := func(mode string) func() bool {
		return func() bool { return a.gauge(t, "holdfast_node_objects_in_use", "configmap", mode) == 1 }
	}
	servertest.Eventually(t, "it is pinned", inUse("immutable"))
	restart(node.Config{WatchImmutable: true})
	servertest.Eventually(t, "it is watched", inUse("watched"))
	c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
	a.sees(c, t, "web", "conf/app.conf", "two")
	c.condition(t, "web", "True", "")

	restart(node.Config{})
	servertest.Eventually(t, "it is pinned again", inUse("immutable"))
	c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: three}}`)
	c.apply(t, pod("new", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.sees(c, t, "new", "conf/app.conf", "three")
	a.sees(c, t, "web", "conf/app.conf", "two")
	if got := a.requests.count("watch", "metadata.name%3Dapp"); got != 0 {
		t.Errorf("watched %d times", got)
	}
}

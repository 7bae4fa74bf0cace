package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/node"
)

// neighbour returns the cluster with another namespace. Its pods use the same nodes.
func (c *cluster) neighbour(t *testing.T) *cluster {
	t.Helper()
	other := *c
	other.namespace += "-neighbour"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other.namespace}}
	if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return &other
}

// TestSlowPodsOfOneNamespace checks that pods with objects that the agent cannot read in time delay
// only pods of their own namespace. The requests for these objects never end.
func TestSlowPodsOfOneNamespace(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	hostile := c.neighbour(t)
	credential := c.credential(t, "n1")
	credential.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.Contains(request.URL.Path, hostile.namespace+"/configmaps/") {
				<-request.Context().Done()
				return nil, request.Context().Err()
			}
			return next.RoundTrip(request)
		})
	})
	for i := range 20 {
		hostile.apply(t, pod(fmt.Sprintf("slow-%d", i), "n1", fmt.Sprintf("[{name: conf, configMap: {name: gone-%d}}]", i)))
	}
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	c.waitForCondition(t, "web", "True", "")
}

// TestDeletedWhileSynced checks that the agent stops reading the objects of a pod that was deleted
// meanwhile.
func TestDeletedWhileSynced(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	credential := c.credential(t, "n1")
	began, goOn := make(chan struct{}), make(chan struct{})
	reached := sync.OnceFunc(func() { close(began) })
	credential.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.Contains(request.URL.Path, "/configmaps/gone-") {
				reached()
				<-goOn
			}
			return next.RoundTrip(request)
		})
	})
	var volumes []string
	for i := range 400 {
		volumes = append(volumes, fmt.Sprintf("{name: v%d, configMap: {name: gone-%d}}", i, i))
	}
	c.apply(t, pod("slow", "n1", "["+strings.Join(volumes, ", ")+"]"))
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	<-began
	c.deletePodNow(t, "slow")
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	c.apply(t, pod("after", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "after", "conf/app.conf", "one") // now the agent knows that the pod is deleted
	close(goOn)
	c.apply(t, pod("later", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "later", "conf/app.conf", "one")
	if reads := a.requests.count("/configmaps/gone-"); reads != 1 {
		t.Errorf("the agent read %d objects of the deleted pod", reads)
	}
}

// TestHooksOfOneNamespace checks that hooks that hang for the pods of one namespace do not delay the
// same hook for a pod of another.
func TestHooksOfOneNamespace(t *testing.T) {
	t.Parallel()
	dir := hooksDir(t, map[string]string{"check": `if grep -q bad "$HOLDFAST_VOLUME_PATH/app.conf"; then exec sleep 100000; fi`})
	c := startCluster(t)
	hostile := c.neighbour(t)
	hostile.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: bad}}`)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: good}}`)
	a := c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root", HookTimeout: time.Hour, HookConcurrency: 3})
	for i := range 6 {
		hostile.apply(t, podWithHooks(fmt.Sprintf("hangs-%d", i), "app", "{holdfast.dev/check: check}"))
	}
	for i := range 6 {
		hostile.waitForCondition(t, fmt.Sprintf("hangs-%d", i), "False", "has not ended yet")
	}
	c.apply(t, podWithHooks("web", "app", "{holdfast.dev/check: check}"))
	a.waitForFile(c, t, "web", "conf/app.conf", "good")
	c.waitForCondition(t, "web", "True", "")
}

// TestNamespaceLimit checks that the pods of one namespace get no more than their part of the root,
// also after a restart, that others are not affected, and that deleted pods release their part.
func TestNamespaceLimit(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	hostile := c.neighbour(t)
	hostile.apply(t, `{kind: ConfigMap, metadata: {name: big}, data: {big: "`+strings.Repeat("x", 100<<10)+`", small: one}}
---
{kind: ConfigMap, metadata: {name: fixed}, immutable: true, data: {big: "`+strings.Repeat("x", 100<<10)+`", small: one}}`)
	c.apply(t, `{kind: ConfigMap, metadata: {name: big}, data: {big: "`+strings.Repeat("x", 100<<10)+`", small: one}}`)
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, node.Config{Name: "n1", NamespaceLimit: 200 << 10})
	hostile.apply(t, pod("first", "n1", `[{name: conf, configMap: {name: big}}]`))
	hostile.waitForCondition(t, "first", "True", "")

	const full = "and the pods of namespace %s already have 112Ki of at most 200Ki on this node (--namespace-limit)"
	copies := `[{name: conf, configMap: {name: big, items: [{key: big, path: a}, {key: big, path: b}]}}]`
	hostile.apply(t, pod("copies", "n1", copies))
	hostile.waitForCondition(t, "copies", "False", "volume conf: the files need 208Ki, "+fmt.Sprintf(full, hostile.namespace))
	// The agent would have to save the whole immutable object.
	hostile.apply(t, pod("saved", "n1", `[{name: conf, configMap: {name: fixed, items: [{key: small, path: a}]}}]`))
	hostile.waitForCondition(t, "saved", "False", fmt.Sprintf(full, hostile.namespace))
	if saved := a.stateFiles(t, "objects"); len(saved) > 0 {
		t.Errorf("saved: %v", saved)
	}
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: big}}]`))
	c.waitForCondition(t, "web", "True", "")

	a.stop(t)
	a = c.startAgentAs(t, credential, node.Config{Name: "n1", NamespaceLimit: 200 << 10, Root: a.root})
	hostile.apply(t, pod("restarted", "n1", `[{name: conf, configMap: {name: big}}]`))
	hostile.waitForCondition(t, "restarted", "False", fmt.Sprintf(full, hostile.namespace))
	hostile.deletePodNow(t, "first")
	hostile.deletePodNow(t, "copies")
	hostile.deletePodNow(t, "restarted")
	a.waitForFile(hostile, t, "saved", "conf/a", "one")
}

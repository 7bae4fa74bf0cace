package exchange_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli/exchange"
	"holdfast.dev/holdfast/internal/replacement/journal"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// shared is the client config of the server of all tests. It is Holdfast, but an Exchanger never asks it to replace an object in one write.
var shared *rest.Config

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *rest.Config) error {
		shared = config
		return nil
	}))
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// cluster has the clients of the administrator, and a namespace of a test.
type cluster struct{ servertest.Cluster }

func newCluster(t testing.TB) cluster {
	t.Helper()
	c := servertest.NewCluster(shared)
	c.Namespace = servertest.CreateNamespace(t, c, "exchange-")
	return cluster{c}
}

// as returns the client config of a user.
func as(user string) *rest.Config {
	config := rest.CopyConfig(shared)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters", "system:authenticated"}}
	return config
}

// exchanger returns an Exchanger with the clients of a config.
func exchanger(t testing.TB, config *rest.Config, kill *killer) *exchange.Exchanger {
	t.Helper()
	config = rest.CopyConfig(config)
	if kill != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			kill.next = next
			return kill
		})
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	set, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	return &exchange.Exchanger{Objects: objects, Cluster: set, FieldManager: "test", Patience: waittest.Patience}
}

// killer ends a process at one of its requests: no request is sent after it.
type killer struct {
	next http.RoundTripper
	// at is the number of the request, 0 for none. handled says that the server handles it, and that only its answer is lost.
	at      int32
	handled bool
	count   atomic.Int32
	end     context.CancelFunc
}

// RoundTrip implements http.RoundTripper.
func (k *killer) RoundTrip(req *http.Request) (*http.Response, error) {
	n := k.count.Add(1)
	if k.at == 0 || n < k.at {
		return k.next.RoundTrip(req)
	}
	if n == k.at && k.handled {
		resp, err := k.next.RoundTrip(req.WithContext(context.WithoutCancel(req.Context())))
		if err == nil {
			_ = resp.Body.Close()
		}
	}
	k.end()
	return nil, context.Canceled
}

// killed reports whether the process ended.
func (k *killer) killed() bool { return k.at > 0 && k.count.Load() >= k.at }

const applied = "kubectl.kubernetes.io/last-applied-configuration"

// configMap returns a ConfigMap, as client-side apply creates it.
func (c cluster) configMap(t testing.TB, name, level string) *unstructured.Unstructured {
	t.Helper()
	object := yamltest.Object(t, `{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {labels: {app: a}}}`)
	object.SetName(name)
	object.SetNamespace(c.Namespace)
	object.SetAnnotations(map[string]string{applied: level})
	if err := unstructured.SetNestedField(object.Object, level, "data", "level"); err != nil {
		t.Fatal(err)
	}
	return object
}

// create creates an object.
func (c cluster) create(t testing.TB, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := c.Dynamic.Resource(configMaps).Namespace(c.Namespace).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// get returns an object, nil if there is none.
func (c cluster) get(t testing.TB, name string) *unstructured.Unstructured {
	t.Helper()
	found, err := c.Dynamic.Resource(configMaps).Namespace(c.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// journals returns the number of open journals.
func (c cluster) journals(t testing.TB) int {
	t.Helper()
	found, err := exchanger(t, shared, nil).List(t.Context(), c.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// find returns the open journal of an object.
func (c cluster) find(t testing.TB, name string) *journal.Entry {
	t.Helper()
	entry, err := exchanger(t, shared, nil).Find(t.Context(), configMaps.GroupResource(), c.Namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

// holds checks the object and that no journal is open.
func (c cluster) holds(t testing.TB, what, name, level string) *unstructured.Unstructured {
	t.Helper()
	found := c.get(t, name)
	if found == nil {
		t.Fatalf("%s: the object is absent", what)
	}
	if got, _, _ := unstructured.NestedString(found.Object, "data", "level"); got != level {
		t.Errorf("%s: level %s, want %s", what, got, level)
	}
	if n := c.journals(t); n != 0 {
		t.Errorf("%s: %d journals are open", what, n)
	}
	return found
}

// wants checks that an error has a text.
func wants(t testing.TB, what string, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want one with %q", what, err, text)
		}
	}
}

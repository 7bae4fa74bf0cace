package faults_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/waittest"
)

// swapped is an object that a test replaces again and again.
type swapped struct {
	// collection and path are those of the objects of its kind, and of the object.
	collection, path string
	// last is the state that the server acknowledged last.
	last *unstructured.Unstructured
	// open says that the last replacement has no answer.
	open     bool
	informer cache.SharedInformer
}

// swappedObjects are an object of a built-in kind, and a custom resource.
var swappedObjects = map[string]string{
	"/api/v1/namespaces/default/configmaps": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "swapped"}, "immutable": true}`,
	"/apis/swap.example.com/v1/namespaces/default/boats": `{"apiVersion": "swap.example.com/v1", "kind": "Boat", "metadata": {"name": "swapped"},
		"spec": {"hull": "wood"}}`,
}

const swappedDefinition = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.swap.example.com"},
	"spec": {"group": "swap.example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"}, "versions": [{"name": "v1",
	"served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`

// A server is killed at random while a client replaces objects. After each restart the old object or the new one exists: never neither,
// and never both. Informers whose connections break at each kill end with the object that is stored.
func TestKillReplacements(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	server := newServer(filepath.Join(t.TempDir(), "data"))
	server.start(t)
	raw := func(path, body string) (*unstructured.Unstructured, error) {
		answer, err := server.client.Load().rest.Post().RequestURI(path).SetHeader("Content-Type", plainJSON).Body([]byte(body)).Do(t.Context()).Raw()
		got := &unstructured.Unstructured{}
		if err == nil {
			err = json.Unmarshal(answer, &got.Object)
		}
		return got, err
	}
	if _, err := raw("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", swappedDefinition); err != nil {
		t.Fatal(err)
	}
	var objects []*swapped
	for collection, text := range swappedObjects {
		o := &swapped{collection: collection, path: collection + "/swapped"}
		waittest.Until(t, collection+" is served", func() (err error) {
			o.last, err = raw(collection, text)
			return err
		})
		o.informer = o.follow(server)
		go o.informer.RunWithContext(t.Context())
		waittest.Until(t, "the informer has listed", o.informer.HasSynced)
		objects = append(objects, o)
	}
	random, total := s.random("kill"), rounds(t, 3, 100)
	var count atomic.Int64
	for range total {
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				for _, o := range objects {
					if !o.replace(t.Context(), server.client.Load()) {
						return
					}
					count.Add(1)
				}
			}
		}()
		want := count.Load() + 1 + random.Int64N(either[int64](20, 60))
		waittest.Until(t, "objects are replaced", func() bool { return count.Load() >= want })
		time.Sleep(time.Duration(random.IntN(5000)) * time.Microsecond) // so that the kill hits any step
		server.kill()
		<-stopped
		server.start(t)
		for _, o := range objects {
			o.settle(t, server.client.Load())
		}
	}
	for _, o := range objects {
		waittest.Until(t, "the informer of "+o.collection+" has the stored object", func() bool {
			list := o.informer.GetStore().List()
			if len(list) != 1 {
				return false
			}
			found, ok := list[0].(metav1.Object)
			return ok && found.GetUID() == o.last.GetUID()
		})
	}
	t.Logf("%d kills, %d replacements", total, count.Load())
}

// replace replaces the object by one with the same content. It reports whether the server answered.
func (o *swapped) replace(ctx context.Context, c *client) bool {
	body, err := json.Marshal(o.last)
	if err != nil {
		return false
	}
	answer, err := c.rest.Put().RequestURI(o.path+"?holdfast=replace").MaxRetries(0).SetHeader("Content-Type", plainJSON).Body(body).Do(ctx).Raw()
	got := &unstructured.Unstructured{}
	if err != nil || json.Unmarshal(answer, &got.Object) != nil {
		o.open = true
		return false
	}
	o.last = got
	return true
}

// settle checks what is stored after a kill.
func (o *swapped) settle(t *testing.T, c *client) {
	t.Helper()
	answer, err := c.rest.Get().RequestURI(o.collection).Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var list unstructured.UnstructuredList
	if err := json.Unmarshal(answer, &list); err != nil {
		t.Fatal(err)
	}
	var found []types.UID
	for i := range list.Items {
		if list.Items[i].GetName() == "swapped" {
			found = append(found, list.Items[i].GetUID())
			stored := &list.Items[i]
			if stored.GetUID() != o.last.GetUID() && (!o.open || versionOf(stored.Object) <= versionOf(o.last.Object)) {
				t.Fatalf("%s has the UID %s, and the last acknowledged one is %s", o.path, stored.GetUID(), o.last.GetUID())
			}
			o.last = stored
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s: stored are %v", o.path, found)
	}
	o.open = false
}

// follow returns an informer of the objects of the collection, on whatever server is running.
func (o *swapped) follow(s *server) cache.SharedInformer {
	path := func(options metav1.ListOptions) string {
		return o.collection + "?fieldSelector=metadata.name%3Dswapped&allowWatchBookmarks=true&resourceVersion=" + options.ResourceVersion
	}
	return cache.NewSharedInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			answer, err := s.client.Load().rest.Get().RequestURI(path(options)).Do(ctx).Raw()
			if err != nil {
				return nil, err
			}
			list := &unstructured.UnstructuredList{}
			return list, json.Unmarshal(answer, list)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			stream, err := s.client.Load().rest.Get().RequestURI(path(options) + "&watch=true").Stream(ctx)
			if err != nil {
				return nil, err
			}
			events := make(chan watch.Event)
			proxy := watch.NewProxyWatcher(events)
			go func() {
				defer close(events)
				defer func() { _ = stream.Close() }()
				for decoder := json.NewDecoder(stream); ; {
					var event struct {
						Type   watch.EventType
						Object unstructured.Unstructured
					}
					if decoder.Decode(&event) != nil {
						return
					}
					select {
					case events <- watch.Event{Type: event.Type, Object: &event.Object}:
					case <-proxy.StopChan():
						return
					}
				}
			}()
			return proxy, nil
		},
	}, &unstructured.Unstructured{}, 0)
}

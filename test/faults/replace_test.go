package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// collection and path are those of the objects of its kind, and of the object. query has the parameters of the replacement.
	collection, name, path, query string
	// dependents are the objects that must never be deleted, by their paths.
	dependents map[string]types.UID
	// last is the state that the server acknowledged last.
	last *unstructured.Unstructured
	// open says that the last replacement has no answer.
	open     bool
	informer cache.SharedInformer
}

const (
	swappedMaps  = "/api/v1/namespaces/default/configmaps"
	swappedBoats = "/apis/swap.example.com/v1/namespaces/default/boats"
	// Replacements whose dependents stay.
	orphaning = "&propagationPolicy=Orphan"
	adopting  = orphaning + "&adopt=true"
)

// swappedObjects are objects of a built-in kind and custom resources, with and without dependents that stay.
var swappedObjects = []swapped{
	{collection: swappedMaps, name: "swapped"},
	{collection: swappedBoats, name: "swapped"},
	{collection: swappedMaps, name: "adopting", query: adopting},
	{collection: swappedBoats, name: "adopting", query: adopting},
	{collection: swappedMaps, name: "orphaning", query: orphaning},
}

// text returns an object of a collection, with the owner references.
func (o *swapped) text(collection, name string, owners ...metav1.OwnerReference) string {
	object := metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
	}
	if collection == swappedBoats {
		object.APIVersion, object.Kind = "swap.example.com/v1", "Boat"
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const swappedDefinition = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.swap.example.com"},
	"spec": {"group": "swap.example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"}, "versions": [{"name": "v1",
	"served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`

// A server is killed at random while a client replaces objects. After each restart the old object or the new one exists: never neither,
// and never both. Informers whose connections break at each kill end with the object that is stored. Dependents that stay are never deleted,
// although the client sets references to the old object after each replacement. At the end each refers to the stored object, or to none.
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
	for _, one := range swappedObjects {
		o := &one
		o.path, o.dependents = o.collection+"/"+o.name, map[string]types.UID{}
		waittest.Until(t, o.collection+" is served", func() (err error) {
			o.last, err = raw(o.collection, o.text(o.collection, o.name))
			return err
		})
		for _, collection := range []string{swappedMaps, swappedBoats} {
			if o.query == "" {
				continue
			}
			name := "of-" + o.name + "-" + strings.ToLower(o.last.GetKind())
			waittest.Until(t, collection+" is served", func() error {
				created, err := raw(collection, o.text(collection, name, o.reference(o.last)))
				if err == nil {
					o.dependents[collection+"/"+name] = created.GetUID()
				}
				return err
			})
		}
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
		o.checkDependents(t, server.client.Load())
		waittest.Until(t, "the informer of "+o.path+" has the stored object", func() bool {
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
	old := o.last
	answer, err := c.rest.Put().RequestURI(o.path+"?holdfast=replace"+o.query).MaxRetries(0).SetHeader("Content-Type", plainJSON).Body(body).Do(ctx).Raw()
	got := &unstructured.Unstructured{}
	if err != nil || json.Unmarshal(answer, &got.Object) != nil {
		o.open = true
		return false
	}
	o.last = got
	for path := range o.dependents {
		if !o.refer(ctx, c, path, old) {
			return false
		}
	}
	return true
}

// reference returns a reference to a state of the object.
func (o *swapped) reference(to *unstructured.Unstructured) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: to.GetAPIVersion(), Kind: to.GetKind(), Name: to.GetName(), UID: to.GetUID(), Controller: &yes}
}

// refer sets the owner reference of a dependent, as a controller with an old view does. It reports whether the server answered.
func (o *swapped) refer(ctx context.Context, c *client, path string, to *unstructured.Unstructured) bool {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []any{o.reference(to)}}})
	if err != nil {
		return false
	}
	err = c.rest.Patch(types.MergePatchType).RequestURI(path).MaxRetries(0).Body(body).Do(ctx).Error()
	var status apierrors.APIStatus
	return err == nil || errors.As(err, &status)
}

// checkDependents waits until each dependent refers to the stored object, or to none. None may be deleted.
func (o *swapped) checkDependents(t *testing.T, c *client) {
	t.Helper()
	for path, uid := range o.dependents {
		waittest.Until(t, path+" has its owner", func() error {
			got := o.dependent(t, c, path, uid)
			var owners []types.UID
			for _, ref := range got.GetOwnerReferences() {
				owners = append(owners, ref.UID)
			}
			if o.query == orphaning && len(owners) == 0 || o.query == adopting && len(owners) == 1 && owners[0] == o.last.GetUID() {
				return nil
			}
			return fmt.Errorf("owners %v, the object has the UID %s", owners, o.last.GetUID())
		})
	}
}

// dependent reads a dependent, which must be the one that was created.
func (o *swapped) dependent(t *testing.T, c *client, path string, uid types.UID) *unstructured.Unstructured {
	t.Helper()
	answer, err := c.rest.Get().RequestURI(path).Do(t.Context()).Raw()
	got := &unstructured.Unstructured{}
	if err == nil {
		err = json.Unmarshal(answer, &got.Object)
	}
	if err != nil || got.GetUID() != uid || got.GetDeletionTimestamp() != nil {
		t.Fatalf("%s was deleted: %v, %v", path, err, got.Object["metadata"])
	}
	return got
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
		if list.Items[i].GetName() == o.name {
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
	for path, uid := range o.dependents {
		o.dependent(t, c, path, uid)
	}
}

// follow returns an informer of the objects of the collection, on whatever server is running.
func (o *swapped) follow(s *server) cache.SharedInformer {
	path := func(options metav1.ListOptions) string {
		return o.collection + "?fieldSelector=metadata.name%3D" + o.name + "&allowWatchBookmarks=true&resourceVersion=" + options.ResourceVersion
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

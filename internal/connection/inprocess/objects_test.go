package inprocess_test

import (
	"context"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection/inprocess"
)

// shared is an object that a watch cache shares between its watches.
type shared struct{ *corev1.ConfigMap }

// CacheEncode implements runtime.CacheableObject.
func (s shared) CacheEncode(_ runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	return encode(s.ConfigMap, w)
}

// GetObject implements runtime.CacheableObject.
func (s shared) GetObject() runtime.Object { return s.DeepCopy() }

func configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"key": "value"}}
}

// objects returns the source of an informer of ConfigMaps that reads from a watch cache.
func objects(list *corev1.ConfigMapList, events watch.Interface) *cache.ListWatch {
	return inprocess.ListWatch(func(schema.GroupVersionResource) cache.ListerWatcherWithContext {
		return &cache.ListWatch{
			ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return events, nil },
		}
	}, corev1.SchemeGroupVersion.WithResource("configmaps"))
}

// TestListCopies checks that a change of a listed object does not change the object in the watch cache.
func TestListCopies(t *testing.T) {
	t.Parallel()
	cached := &corev1.ConfigMapList{Items: []corev1.ConfigMap{*configMap()}}
	got, err := objects(cached, nil).ListWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cached, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	got.(*corev1.ConfigMapList).Items[0].Data["key"] = "other"
	if diff := cmp.Diff(*configMap(), cached.Items[0]); diff != "" {
		t.Errorf("the cached object (-want +got):\n%s", diff)
	}
}

// TestWatchCopies checks that a change of an object of a watch does not change the object in the watch cache.
func TestWatchCopies(t *testing.T) {
	t.Parallel()
	cached := configMap()
	for name, object := range map[string]runtime.Object{"of one watch": cached, "of several watches": shared{cached}} {
		source := watch.NewFakeWithChanSize(1, false)
		copies, err := objects(nil, source).WatchWithContext(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		source.Modify(object)
		event := <-copies.ResultChan()
		if diff := cmp.Diff(watch.Event{Type: watch.Modified, Object: cached}, event); diff != "" {
			t.Errorf("%s: event (-want +got):\n%s", name, diff)
		}
		event.Object.(*corev1.ConfigMap).Data["key"] = "other"
		if diff := cmp.Diff(configMap(), cached); diff != "" {
			t.Errorf("%s: the cached object (-want +got):\n%s", name, diff)
		}
		source.Stop()
		if _, open := <-copies.ResultChan(); open {
			t.Errorf("%s: an event after the end of the watch", name)
		}
	}
}

// keptObjects are objects of a watch cache that informers keep.
type keptObjects struct{ *cache.ListWatch }

// Keep implements inprocess.Keeper.
func (keptObjects) Keep(obj runtime.Object) runtime.Object {
	if wrapper, ok := obj.(shared); ok {
		return wrapper.ConfigMap
	}
	return obj
}

// TestKeeper checks that an informer keeps the objects of a source that lets it.
func TestKeeper(t *testing.T) {
	t.Parallel()
	list, events := &corev1.ConfigMapList{Items: []corev1.ConfigMap{*configMap()}}, watch.NewFakeWithChanSize(2, false)
	defer events.Stop()
	informed := inprocess.ListWatch(func(schema.GroupVersionResource) cache.ListerWatcherWithContext {
		return keptObjects{&cache.ListWatch{
			ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return events, nil },
		}}
	}, corev1.SchemeGroupVersion.WithResource("configmaps"))
	got, err := informed.ListWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got != runtime.Object(list) {
		t.Error("the list is a copy")
	}
	kept, err := informed.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Stop()
	cached := configMap()
	events.Add(cached)
	events.Modify(shared{cached})
	for _, want := range []watch.EventType{watch.Added, watch.Modified} {
		if event := <-kept.ResultChan(); event.Type != want || event.Object != runtime.Object(cached) {
			t.Errorf("%s of %p, want %s of %p", event.Type, event.Object, want, cached)
		}
	}
}

// TestWatchStops checks that the end of a watch ends the watch of the cache, also if an event waits for a reader.
func TestWatchStops(t *testing.T) {
	t.Parallel()
	source := watch.NewFakeWithChanSize(2, false)
	source.Add(configMap())
	source.Add(configMap())
	copies, err := objects(nil, source).WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-copies.ResultChan()
	copies.Stop()
	for range copies.ResultChan() { // until it is closed
	}
	if !source.IsStopped() {
		t.Error("the watch of the cache goes on")
	}
}

package storage

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver/sharing"
	"holdfast.dev/holdfast/internal/replacement"
)

// attempts is how often a list or a watch is tried while the watch cache is not ready. A client of the API sends its request as often.
const attempts = 11

// Store lists and watches objects, such as a registry of the generic API server.
type Store interface {
	List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error)
}

// NewObjects returns the objects of a store in this process. They are shared with the watch cache of the store, so they must not be
// changed. An object of a watch may be a runtime.CacheableObject, which implements metav1.Object too.
func NewObjects(store Store) cache.ListerWatcherWithContext { return objects{store} }

// NewKeptObjects is NewObjects for readers that keep the objects: it implements inprocess.Keeper. What a reader keeps shares its parts with the
// watch cache.
func NewKeptObjects(store Store, resource schema.GroupResource, shared *sharing.Objects) cache.ListerWatcherWithContext {
	return keptObjects{objects{store}, resource, shared}
}

// keptObjects are objects that readers keep.
type keptObjects struct {
	objects
	resource schema.GroupResource
	shared   *sharing.Objects
}

// Keep returns the object of an event, for a reader that keeps it. The object belongs to this watch alone: the watch cache copies the objects that it
// has, or wraps them, and such a wrapper only returns copies. The copy then shares its parts with the object in the watch cache, or with
// another one of its owner or its resource, as package sharing remembers them.
func (o keptObjects) Keep(obj runtime.Object) runtime.Object {
	if wrapper, ok := obj.(runtime.CacheableObject); ok {
		obj = wrapper.GetObject()
	}
	o.shared.ShareCopy(o.resource, obj)
	return obj
}

// objects lists and watches the objects of one store, as the handlers of the API do.
type objects struct{ store Store }

// ListWithContext implements cache.ListerWatcherWithContext.
func (o objects) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return whenReady(ctx, options, o.store.List)
}

// WatchWithContext implements cache.ListerWatcherWithContext. The watch ends after the timeout of its options. It shows the replacement
// of an object as a change.
func (o objects) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	cancel := context.CancelFunc(func() {})
	if options.TimeoutSeconds != nil {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*options.TimeoutSeconds)*time.Second)
	}
	events, err := whenReady(replacement.AsChanges(ctx), options, o.store.Watch)
	if err != nil {
		cancel()
		return nil, err
	}
	return timedWatch{events, cancel}, nil
}

// timedWatch is a watch with a timeout.
type timedWatch struct {
	watch.Interface
	cancel context.CancelFunc
}

// Stop implements watch.Interface.
func (w timedWatch) Stop() {
	w.cancel()
	w.Interface.Stop()
}

// whenReady calls a method of a store, again while the answer is that the client must try later.
func whenReady[T any](
	ctx context.Context, options metav1.ListOptions, call func(context.Context, *internalversion.ListOptions) (T, error),
) (T, error) {
	var internal internalversion.ListOptions
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&options, &internal, nil); err != nil {
		var none T
		return none, err
	}
	for attempt := 1; ; attempt++ {
		found, err := call(ctx, &internal)
		seconds, later := apierrors.SuggestsClientDelay(err)
		if !later || attempt == attempts {
			return found, err
		}
		select {
		case <-ctx.Done():
			return found, err
		case <-time.After(time.Duration(seconds) * time.Second):
		}
	}
}

package apiserver

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/apiserver/aggregation"
)

// localAttempts is how often a list or a watch is tried while the watch cache is not ready. A client
// of the API sends its request as often.
const localAttempts = 11

// localObjects lists and watches the objects of built-in kinds and definitions in the process. A watch
// through the API would have a connection, an encoder, a decoder and a large stack besides.
type localObjects struct {
	stores map[schema.GroupResource]*genericregistry.Store
	router *aggregation.Router
}

// of returns the objects of a resource, or nil if this process does not store them or another server
// answers the requests for them.
func (l localObjects) of(resource schema.GroupVersionResource) cache.ListerWatcherWithContext {
	store := l.stores[resource.GroupResource()]
	if store == nil || l.router.IsRemote(resource.GroupVersion()) {
		return nil
	}
	return localStore{store}
}

// localStore lists and watches the objects of one store, as the handlers of the API do.
type localStore struct{ store *genericregistry.Store }

// ListWithContext implements cache.ListerWatcherWithContext.
func (l localStore) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return whenReady(ctx, options, l.store.List)
}

// WatchWithContext implements cache.ListerWatcherWithContext. The watch ends after the timeout of its options.
func (l localStore) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	cancel := context.CancelFunc(func() {})
	if options.TimeoutSeconds != nil {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*options.TimeoutSeconds)*time.Second)
	}
	events, err := whenReady(ctx, options, l.store.Watch)
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
	ctx context.Context, options metav1.ListOptions, call func(context.Context, *metainternalversion.ListOptions) (T, error),
) (T, error) {
	var internal metainternalversion.ListOptions
	if err := metainternalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&options, &internal, nil); err != nil {
		var none T
		return none, err
	}
	for attempt := 1; ; attempt++ {
		found, err := call(ctx, &internal)
		seconds, later := apierrors.SuggestsClientDelay(err)
		if !later || attempt == localAttempts {
			return found, err
		}
		select {
		case <-ctx.Done():
			return found, err
		case <-time.After(time.Duration(seconds) * time.Second):
		}
	}
}

package storage

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// NewListWatch returns the source of an informer that reads from a store in this process. The
// objects are shared with the watch cache of the store, so they must not be changed.
func NewListWatch(store Store) *cache.ListWatch {
	all := NewObjects(store)
	return &cache.ListWatch{
		ListWithContextFunc: all.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := all.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, unwrap), nil
		},
	}
}

// unwrap replaces a CacheableObject of the watch cache by the object inside.
func unwrap(event watch.Event) (watch.Event, bool) {
	if cached, ok := event.Object.(runtime.CacheableObject); ok {
		event.Object = cached.GetObject()
	}
	return event, true
}

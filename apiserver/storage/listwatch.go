package storage

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Store lists and watches objects, such as a registry of the generic API server.
type Store interface {
	List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error)
}

// NewListWatch returns the source of an informer that reads from a store in this process. The
// objects are shared with the watch cache of the store, so they must not be changed.
func NewListWatch(store Store) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			internal, err := internalOptions(options)
			if err != nil {
				return nil, err
			}
			return store.List(ctx, internal)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			internal, err := internalOptions(options)
			if err != nil {
				return nil, err
			}
			events, err := store.Watch(ctx, internal)
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

func internalOptions(options metav1.ListOptions) (*internalversion.ListOptions, error) {
	internal := &internalversion.ListOptions{}
	err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&options, internal, nil)
	return internal, err
}

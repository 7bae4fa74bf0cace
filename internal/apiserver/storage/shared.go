package storage

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/sharing"
)

// sharedStorage is the storage that a watch cache of a built-in kind reads from. The objects that it returns share equal parts. They do so
// before an observer sees them: it may keep an object, which must not change then.
type sharedStorage struct {
	storage.Interface
	resource schema.GroupResource
	objects  *sharing.Objects
}

// GetList implements storage.Interface.
func (s sharedStorage) GetList(ctx context.Context, key string, options storage.ListOptions, list runtime.Object) error {
	if err := s.Interface.GetList(ctx, key, options, list); err != nil {
		return err
	}
	return meta.EachListItem(list, func(obj runtime.Object) error {
		s.objects.ShareItem(s.resource, obj)
		return nil
	})
}

// Watch implements storage.Interface.
func (s sharedStorage) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	inner, err := s.Interface.Watch(ctx, key, options)
	if err != nil {
		return nil, err
	}
	return newRelay(inner, func(event watch.Event) watch.Event {
		obj := event.Object
		if timed, ok := obj.(storage.WatchEventWithRecordTime); ok {
			obj = timed.Unwrap()
		}
		if event.Type != watch.Bookmark && event.Type != watch.Error {
			s.objects.Share(s.resource, obj)
		}
		return event
	}), nil
}

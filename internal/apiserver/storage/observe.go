package storage

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/metadata"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// Observer sees every change of a resource, in order, before the watch cache does, and
// so before any client does. Its methods are never called at the same time. They must
// not change an object and must not block.
type Observer interface {
	// Begin is called when a watch begins. ask requests a call of Progress.
	Begin(ask func(context.Context) error)
	// Replace is called with all objects that exist at a version.
	Replace(objs []runtime.Object, version uint64)
	// Change is called with an object that was added, modified or deleted.
	Change(event watch.EventType, obj runtime.Object, version uint64)
	// Progress is called when all changes up to a version have been seen.
	Progress(version uint64)
}

// Observers are several observers of one resource, which are called one after the other.
type Observers []Observer

// Begin implements Observer.
func (o Observers) Begin(ask func(context.Context) error) {
	for _, one := range o {
		one.Begin(ask)
	}
}

// Replace implements Observer.
func (o Observers) Replace(objs []runtime.Object, version uint64) {
	for _, one := range o {
		one.Replace(objs, version)
	}
}

// Change implements Observer.
func (o Observers) Change(event watch.EventType, obj runtime.Object, version uint64) {
	for _, one := range o {
		one.Change(event, obj, version)
	}
}

// Progress implements Observer.
func (o Observers) Progress(version uint64) {
	for _, one := range o {
		one.Progress(version)
	}
}

// observedStorage is the storage that a watch cache reads from. It passes the lists and
// watches of the cache to an observer first.
type observedStorage struct {
	storage.Interface
	observer Observer
	// pages are the items of the pages of a list that have been read so far.
	pages []runtime.Object

	// mu is held while the observer is called.
	mu sync.Mutex
	// shown is the version up to which the observer has seen all changes. Older events,
	// of a watch that is being stopped, are dropped.
	shown uint64
}

// NewObserved returns a storage that shows the lists and watches of another one to an observer.
func NewObserved(inner storage.Interface, o Observer) storage.Interface {
	return &observedStorage{Interface: inner, observer: o}
}

// GetList implements storage.Interface.
func (s *observedStorage) GetList(ctx context.Context, key string, options storage.ListOptions, list runtime.Object) error {
	if err := s.Interface.GetList(ctx, key, options, list); err != nil {
		return err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	// The cache extracts its items in the same way.
	items, err := meta.ExtractListWithAlloc(list)
	if err != nil {
		return err
	}
	if options.Predicate.Continue == "" {
		s.pages = nil
	}
	s.pages = append(s.pages, items...)
	if accessor.GetContinue() != "" {
		return nil
	}
	version, err := s.Versioner().ParseResourceVersion(accessor.GetResourceVersion())
	if err != nil {
		return err
	}
	s.replace(s.pages, version)
	s.pages = nil
	return nil
}

func (s *observedStorage) replace(objs []runtime.Object, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version >= s.shown {
		s.shown = version
		s.observer.Replace(objs, version)
	}
}

func (s *observedStorage) change(event watch.Event, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version <= s.shown {
		return
	}
	s.shown = version
	if event.Type == watch.Bookmark {
		s.observer.Progress(version)
		return
	}
	s.observer.Change(event.Type, event.Object, version)
}

// Watch implements storage.Interface.
func (s *observedStorage) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	inner, err := s.Interface.Watch(ctx, key, options)
	if err != nil {
		return nil, err
	}
	// etcd sends progress on the stream on which it was requested. The metadata of the
	// context names the stream.
	values, _ := metadata.FromOutgoingContext(ctx)
	s.observer.Begin(func(ctx context.Context) error {
		return s.RequestWatchProgress(metadata.NewOutgoingContext(ctx, values))
	})
	// The watch sends all existing objects first. These events are not changes.
	w := &observedWatch{storage: s, listing: options.SendInitialEvents != nil && *options.SendInitialEvents}
	return newRelay(inner, w.observe), nil
}

// observedWatch passes the events of a watch to the observer.
type observedWatch struct {
	storage *observedStorage
	listing bool
	listed  []runtime.Object
}

// observe shows an event to the observer. It replaces an event that it cannot read by an error.
func (w *observedWatch) observe(event watch.Event) watch.Event {
	if err := w.show(event); err != nil {
		status := apierrors.NewInternalError(err).ErrStatus
		return watch.Event{Type: watch.Error, Object: &status}
	}
	return event
}

func (w *observedWatch) show(event watch.Event) error {
	if event.Type == watch.Error {
		return nil
	}
	if timed, ok := event.Object.(storage.WatchEventWithRecordTime); ok {
		event.Object = timed.Unwrap()
	}
	version, err := w.storage.Versioner().ObjectResourceVersion(event.Object)
	if err != nil {
		return fmt.Errorf("observe %s: %w", event.Type, err)
	}
	if !w.listing {
		w.storage.change(event, version)
		return nil
	}
	if event.Type != watch.Bookmark {
		w.listed = append(w.listed, event.Object)
		return nil
	}
	last, err := storage.HasInitialEventsEndBookmarkAnnotation(event.Object)
	if err != nil || !last {
		return err
	}
	w.storage.replace(w.listed, version)
	w.listing, w.listed = false, nil
	return nil
}

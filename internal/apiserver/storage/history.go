package storage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// historyEvents is about how many events of one resource the watch cache keeps for
// watches that resume. Upstream keeps the events of at least 75 seconds, without a
// bound on their number: at a thousand writes a second that is a gigabyte.
const historyEvents = 5_000

// historyBytes is about how large the objects of these events are together, as stored. 5,000 events
// of objects of a megabyte would be gigabytes. The watch cache keeps the last 100 events in any case.
const historyBytes = 64 << 20

// decorator returns storage behind upstream's watch cache. The history of the cache is bounded, see datedStorage. The observer of the
// resource, if it has one, sees all lists and events that the cache reads. The kind is empty for custom resources.
func (o Options) decorator(resource schema.GroupResource, kind schema.GroupVersionKind) generic.StorageDecorator {
	observer := o.Observers[resource]
	return func(
		config *storagebackend.ConfigForResource,
		resourcePrefix string,
		keyFunc func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object,
		getAttrs storage.AttrFunc,
		triggers storage.IndexerFuncs,
		indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		replaced := newReplacedObjects(config, newFunc)
		raw, destroyRaw, err := o.Client.ReplaceableStorage(config, newFunc, newListFunc, resourcePrefix, replaced.add)
		if err != nil {
			return nil, nil, err
		}
		source := raw
		if kind.Kind != "" && o.Shared != nil {
			source = sharedStorage{source, config.GroupResource, o.Shared}
		}
		if observer != nil {
			source = NewObserved(source, observer)
		}
		filling := &fill{}
		leaveChecksToAudits()
		cached, err := cacher.NewCacherFromConfig(cacher.Config{
			Storage:             datedStorage{source, config.EventsHistoryWindow, &atomic.Int64{}, filling},
			Versioner:           storage.APIObjectVersioner{},
			GroupResource:       config.GroupResource,
			EventsHistoryWindow: config.EventsHistoryWindow,
			ResourcePrefix:      resourcePrefix,
			KeyFunc:             keyFunc,
			NewFunc:             newFunc,
			NewListFunc:         newListFunc,
			GetAttrsFunc:        getAttrs,
			IndexerFuncs:        triggers,
			Indexers:            indexers,
			Codec:               config.Codec,
		})
		if err != nil {
			destroyRaw()
			return nil, nil, err
		}
		written := raw
		if o.Recorder != nil {
			written = o.Recorder.Record(raw, Recorded{Resource: resource, Kind: kind, Codec: config.Codec, New: newFunc})
		}
		delegator := cacher.NewCacheDelegator(cached, written)
		closed := o.WatchCaches.add(&watchCache{
			resource: resource, cached: cached, fill: filling, client: o.Client, prefix: resourcePrefix, keyOf: keyFunc, newList: newListFunc,
			stored: newPlainObjects(config, newFunc), limit: cachePage,
		})
		return waitingStorage{delegator, cached, filling, replaced, config.GroupResource}, sync.OnceFunc(func() {
			filling.failed.Store(true)
			closed()
			delegator.Stop()
			cached.Stop()
			destroyRaw()
		}), nil
	}
}

// datedStorage is the storage that a watch cache reads from. The watch cache keeps the events of a
// window of time. datedStorage moves the time of each event forward by one more step, so that the
// window holds a bounded number of events, of a bounded size. A resource with few writes keeps the events
// of upstream's window; one with many keeps its last historyEvents events, or fewer if they are large.
//
// Only the events have these times. The clock of the cache is the real one: the cache also uses it
// to wait for versions that it has not seen yet, and to send bookmarks before a watch ends. In
// the metric apiserver_watch_events_dispatch_duration_seconds, the stages that begin with
// the time of the event are zero.
type datedStorage struct {
	storage.Interface
	window time.Duration
	ahead  *atomic.Int64
	fill   *fill
}

// step returns the part of the window that the event of an object takes.
func (s datedStorage) step(obj runtime.Object) time.Duration {
	step := s.window / historyEvents
	// The types with a protobuf encoding have this method, and custom resources.
	if sized, ok := obj.(interface{ Size() int }); ok {
		step = max(step, s.window*time.Duration(sized.Size())/historyBytes)
	}
	return step
}

// GetList implements storage.Interface. The watch cache reads all objects with it.
func (s datedStorage) GetList(ctx context.Context, key string, options storage.ListOptions, list runtime.Object) error {
	if options.Predicate.Continue == "" {
		s.fill.failed.Store(false)
	}
	err := s.Interface.GetList(ctx, key, options, list)
	if err != nil {
		s.fill.failed.Store(true)
	}
	return err
}

// Watch implements storage.Interface. With SendInitialEvents, the watch cache reads all objects with it.
func (s datedStorage) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	filling := options.SendInitialEvents != nil && *options.SendInitialEvents
	if filling {
		s.fill.failed.Store(false)
	}
	inner, err := s.Interface.Watch(ctx, key, options)
	if err != nil {
		s.fill.failed.Store(true)
		return nil, err
	}
	dated := newRelay(inner, func(event watch.Event) watch.Event {
		if filling && event.Type == watch.Error {
			s.fill.failed.Store(true)
		}
		if timed, ok := event.Object.(storage.WatchEventWithRecordTime); ok {
			obj := timed.Unwrap()
			ahead := time.Duration(s.ahead.Add(int64(s.step(obj))))
			event.Object = &datedObject{obj, timed.RecordTime().Add(ahead)}
		}
		return event
	})
	s.fill.watch.Store(dated)
	return dated, nil
}

// datedObject is the object of an event with the time of the event.
type datedObject struct {
	runtime.Object
	date time.Time
}

var _ storage.WatchEventWithRecordTime = &datedObject{}

// RecordTime implements storage.WatchEventWithRecordTime.
func (o *datedObject) RecordTime() time.Time { return o.date }

// Unwrap implements storage.WatchEventWithRecordTime.
func (o *datedObject) Unwrap() runtime.Object { return o.Object }

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (o *datedObject) GetObjectMeta() metav1.Object {
	accessor, err := meta.Accessor(o.Object)
	if err != nil {
		return nil
	}
	return accessor
}

// DeepCopyObject implements runtime.Object.
func (o *datedObject) DeepCopyObject() runtime.Object {
	return &datedObject{o.Object.DeepCopyObject(), o.date}
}

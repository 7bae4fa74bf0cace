package storage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"holdfast.dev/holdfast/apiserver/etcd"
)

// historyEvents is about how many events of one resource are kept for watches
// that resume. Upstream keeps at least 75 seconds of them, however many those
// are: a gigabyte at a thousand writes a second.
const historyEvents = 5_000

// withBoundedHistory is the watch cache of upstream on a clock that also moves
// with the number of events, so that its window holds a bounded number. The
// observer, if there is one, sees what the cache sees.
func withBoundedHistory(client *etcd.Client, o Observer) generic.StorageDecorator {
	return func(
		config *storagebackend.ConfigForResource,
		resourcePrefix string,
		keyFunc func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object,
		getAttrs storage.AttrFunc,
		triggers storage.IndexerFuncs,
		indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		raw, destroyRaw, err := client.Storage(config, newFunc, newListFunc, resourcePrefix)
		if err != nil {
			return nil, nil, err
		}
		var source storage.Interface = undatedStorage{raw}
		if o != nil {
			source = newObservedStorage(source, o)
		}
		events := &eventClock{step: config.EventsHistoryWindow / historyEvents}
		cached, err := cacher.NewCacherFromConfig(cacher.Config{
			Storage:             source,
			Versioner:           storage.APIObjectVersioner{},
			GroupResource:       config.GroupResource,
			EventsHistoryWindow: config.EventsHistoryWindow,
			ResourcePrefix:      resourcePrefix,
			// The cache asks for an event's key once, before it dates the event.
			KeyFunc: func(obj runtime.Object) (string, error) {
				events.advance()
				return keyFunc(obj)
			},
			NewFunc:      newFunc,
			NewListFunc:  newListFunc,
			GetAttrsFunc: getAttrs,
			IndexerFuncs: triggers,
			Indexers:     indexers,
			Codec:        config.Codec,
			Clock:        events,
		})
		if err != nil {
			destroyRaw()
			return nil, nil, err
		}
		delegator := cacher.NewCacheDelegator(cached, raw)
		return delegator, sync.OnceFunc(func() {
			delegator.Stop()
			cached.Stop()
			destroyRaw()
		}), nil
	}
}

// undatedStorage does not date the events of a watch, so that the cache dates
// them by its own clock.
type undatedStorage struct{ storage.Interface }

// Watch implements storage.Interface.
func (s undatedStorage) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	options.RecordTimestamps = false
	return s.Interface.Watch(ctx, key, options)
}

// eventClock is the real clock, put forward by a step with every event. A quiet
// resource keeps upstream's window; a busy one keeps its last historyEvents.
type eventClock struct {
	clock.RealClock
	step  time.Duration
	ahead atomic.Int64
}

func (c *eventClock) advance() { c.ahead.Add(int64(c.step)) }

// Now implements clock.Clock.
func (c *eventClock) Now() time.Time {
	return c.RealClock.Now().Add(time.Duration(c.ahead.Load()))
}

// Since implements clock.Clock.
func (c *eventClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

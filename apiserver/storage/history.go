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

// historyEvents is about how many events of one resource the watch cache keeps for
// watches that resume. Upstream keeps the events of at least 75 seconds, without a
// bound on their number: at a thousand writes a second that is a gigabyte.
const historyEvents = 5_000

// withBoundedHistory returns storage behind upstream's watch cache. The clock of the cache
// moves forward with every event, so that its window of time holds a bounded number of
// events. The observer, if it is not nil, sees all lists and events that the cache reads.
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
		var source storage.Interface = untimedStorage{raw}
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
			// The cache asks for the key of an event once, before it reads the clock.
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

// untimedStorage sends the events of a watch without timestamps. The cache then takes
// the time of an event from its own clock.
type untimedStorage struct{ storage.Interface }

// Watch implements storage.Interface.
func (s untimedStorage) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	options.RecordTimestamps = false
	return s.Interface.Watch(ctx, key, options)
}

// eventClock is the real clock plus one step for every event. A resource with few
// writes keeps upstream's window of time; one with many keeps its last historyEvents
// events.
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

package storage

import (
	"context"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"

	"holdfast.dev/holdfast/internal/replacement"
)

const (
	// fillTimeout is how long a request waits for a cache at most. It is the timeout of requests; a watch has
	// no timeout of its own.
	fillTimeout = time.Minute
	fillPoll    = 5 * time.Millisecond
)

// fill is the state of the reads into a watch cache.
type fill struct {
	// failed says whether the last attempt to read all objects has failed. It is false again when the next attempt begins.
	failed atomic.Bool
	// watch is the last watch that the cache reads from.
	watch atomic.Pointer[relay]
}

// again makes the cache read all objects again. Its watches end.
func (f *fill) again() {
	if from := f.watch.Load(); from != nil {
		status := apierrors.NewResourceExpired("the watch cache is read again").ErrStatus
		from.fail(&status)
	}
}

// waitingStorage is storage behind a watch cache. A list or a watch waits while the cache is being filled,
// where the watch cache of Kubernetes answers 429. If the objects cannot be read, for example because a
// conversion webhook does not answer, the request gets that 429 at once: it must not keep its place among
// the requests of the server for nothing. It also shows clients the replacements of objects, see replacedObjects.
type waitingStorage struct {
	*cacher.CacheDelegator
	cache    *cacher.Cacher
	fill     *fill
	replaced *replacedObjects
	resource schema.GroupResource
}

// GetList implements storage.Interface.
func (s waitingStorage) GetList(ctx context.Context, key string, options storage.ListOptions, list runtime.Object) error {
	if !isPage(options) {
		s.wait(ctx)
	}
	return s.CacheDelegator.GetList(ctx, key, options, list)
}

// Watch implements storage.Interface. It shows a replacement of an object as two events, or as a change if the context asks for that.
func (s waitingStorage) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	s.wait(ctx)
	inner, err := s.CacheDelegator.Watch(ctx, key, options)
	if err != nil {
		return nil, err
	}
	if replacement.ShowsChanges(ctx) {
		return inner, nil
	}
	return s.replaced.watch(inner), nil
}

// isPage reports whether the watch cache reads a list from etcd while it is not filled: a page without
// selectors.
func isPage(options storage.ListOptions) bool {
	selected := options.Predicate
	return selected.Limit > 0 && (selected.Label == nil || selected.Label.Empty()) && (selected.Field == nil || selected.Field.Empty())
}

// wait waits until the cache is filled, until it turns out that it cannot be, or until ctx ends.
func (s waitingStorage) wait(ctx context.Context) {
	if s.cache.Ready() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	ticker := time.NewTicker(fillPoll)
	defer ticker.Stop()
	for !s.cache.Ready() && !s.fill.failed.Load() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

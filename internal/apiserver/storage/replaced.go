package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/replacement"
)

// replacedKept is the number of replaced objects of a resource that are kept for watches that resume. The watch cache keeps about as
// many events (historyEvents), so a watch that resumes finds the object of each event.
const replacedKept = 2 * historyEvents

// replacedBytes bounds the size of the replaced objects that are kept, as stored.
const replacedBytes = historyBytes

// replacedObjects are the objects of a resource that were replaced by others of the same name. In etcd a replacement is one write of a key,
// so the watch cache has one event for it, which modifies the object. Each watch of a client shows it as two events: the old object
// is deleted, with a resourceVersion one lower, and the new one is added. A watch that begins at the lower resourceVersion gets both.
//
// A watch is passed on as it is until the server sees the first replacement of the resource. Then it ends, as each watch does now and
// then, and the next one of its client is split. The watches of readers in the server are never split, see replacement.AsChanges.
type replacedObjects struct {
	decoder etcd3.Decoder
	newFunc func() runtime.Object

	mu sync.Mutex
	// seen says that an object of the resource was replaced since the start of the server.
	seen bool
	// unsplit are the watches that are passed on as they are.
	unsplit map[*unsplitWatch]struct{}
	// objects are by the revision of the write that replaced them, and order has these revisions.
	objects map[uint64]*replacedObject
	order   []uint64
	bytes   int
}

// replacedObject is an object that was replaced. It is decoded once.
type replacedObject struct {
	size   int
	decode func() (runtime.Object, error)
}

func newReplacedObjects(config *storagebackend.ConfigForResource, newFunc func() runtime.Object) *replacedObjects {
	return &replacedObjects{
		decoder: etcd3.NewDefaultDecoder(config.Codec, storage.APIObjectVersioner{}), newFunc: newFunc,
		unsplit: map[*unsplitWatch]struct{}{}, objects: map[uint64]*replacedObject{},
	}
}

// add records a replacement. It ends the watches that are not split. It is called before the watch cache has the event, so none of them
// sends it.
func (r *replacedObjects) add(replaced etcd.Replaced) {
	revision := uint64(replaced.Revision)
	object := &replacedObject{size: len(replaced.Old), decode: sync.OnceValues(func() (runtime.Object, error) {
		old := r.newFunc()
		return old, r.decoder.Decode(replaced.Old, old, replaced.Revision-1)
	})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = true
	for w := range r.unsplit {
		w.Interface.Stop()
	}
	clear(r.unsplit)
	if r.objects[revision] != nil {
		return // two watches of etcd have the same event
	}
	r.objects[revision], r.order, r.bytes = object, append(r.order, revision), r.bytes+object.size
	for len(r.order) > replacedKept || r.bytes > replacedBytes && len(r.order) > 1 {
		r.bytes -= r.objects[r.order[0]].size
		// The events of the watch cache are bounded in the same way, so that none is left of so old a write. If there is one, the
		// watch shows it as a change of the object.
		delete(r.objects, r.order[0])
		r.order = r.order[1:]
	}
}

// at returns the object that the write with a revision replaced, nil if it replaced none.
func (r *replacedObjects) at(revision uint64) *replacedObject {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[revision]
}

// watch returns a watch with two events for each replacement.
func (r *replacedObjects) watch(inner watch.Interface) watch.Interface {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen {
		return newSplitWatch(inner, r)
	}
	w := &unsplitWatch{inner, r}
	r.unsplit[w] = struct{}{}
	return w
}

// unsplitWatch is a watch of a resource of which no object was replaced.
type unsplitWatch struct {
	watch.Interface
	objects *replacedObjects
}

// Stop implements watch.Interface.
func (w *unsplitWatch) Stop() {
	w.objects.mu.Lock()
	delete(w.objects.unsplit, w)
	w.objects.mu.Unlock()
	w.Interface.Stop()
}

// splitWatch sends the events of another watch, and two events for each replacement.
type splitWatch struct {
	inner   watch.Interface
	objects *replacedObjects
	result  chan watch.Event
	stopped chan struct{}
	stop    func()
}

func newSplitWatch(inner watch.Interface, objects *replacedObjects) *splitWatch {
	w := &splitWatch{inner: inner, objects: objects, result: make(chan watch.Event), stopped: make(chan struct{})}
	w.stop = sync.OnceFunc(func() {
		close(w.stopped)
		inner.Stop()
	})
	go w.run()
	return w
}

// ResultChan implements watch.Interface.
func (w *splitWatch) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *splitWatch) Stop() { w.stop() }

func (w *splitWatch) run() {
	defer close(w.result)
	for event := range w.inner.ResultChan() {
		for _, event := range w.split(event) {
			select {
			case w.result <- event:
			case <-w.stopped:
				return
			}
		}
	}
}

// split returns the events that a client gets for an event. If the selectors of the watch match only one of the objects, the watch cache
// has made the event a deletion or a creation.
func (w *splitWatch) split(event watch.Event) []watch.Event {
	if event.Type != watch.Modified {
		return []watch.Event{event}
	}
	version, err := storage.APIObjectVersioner{}.ObjectResourceVersion(event.Object)
	if err != nil {
		return []watch.Event{event}
	}
	replaced := w.objects.at(version)
	if replaced == nil {
		return []watch.Event{event}
	}
	old, err := replaced.decode()
	if err != nil {
		// The client lists the objects again.
		klog.ErrorS(err, "a replaced object cannot be decoded: a watch ends", "component", "storage")
		status := apierrors.NewResourceExpired(fmt.Sprintf("an object that was replaced at resourceVersion %d cannot be read", version)).ErrStatus
		return []watch.Event{{Type: watch.Error, Object: &status}}
	}
	// Several watches send the object. None of them may change it.
	return []watch.Event{{Type: watch.Deleted, Object: old.DeepCopyObject()}, {Type: watch.Added, Object: event.Object}}
}

// Create implements storage.Interface. If the object replaces another one, the store compares the revision of that one, and an error says
// that another write came first.
func (s waitingStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	swap := replacement.For(ctx, KeyPrefix+key)
	if swap != nil {
		var err error
		if ctx, err = withRecord(ctx, swap, obj); err != nil {
			return err
		}
		if err := failpoint.Fail("storage:replace"); err != nil {
			return err
		}
	}
	err := s.CacheDelegator.Create(ctx, key, obj, out, ttl)
	if err == nil && swap != nil {
		err = failpoint.Fail("storage:replaced")
	}
	if storage.IsExist(err) && swap != nil {
		return apierrors.NewConflict(s.resource, path.Base(key), errWrittenMeanwhile)
	}
	return err
}

var errWrittenMeanwhile = errors.New("the object was written or deleted after it was read: read it again, and decide again")

// Get implements storage.Interface. In the dry run of a create, the registry asks whether there is such an object: one that the new
// object replaces is none.
func (s waitingStorage) Get(ctx context.Context, key string, options storage.GetOptions, out runtime.Object) error {
	if swap := replacement.For(ctx, KeyPrefix+key); swap != nil && swap.DryRun {
		return storage.NewKeyNotFoundError(key, 0)
	}
	return s.CacheDelegator.Get(ctx, key, options, out)
}

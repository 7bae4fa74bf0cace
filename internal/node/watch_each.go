package node

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watchEach opens one watch for each object, as kubelets do. It is used with servers
// that do not support the field selector of watchAll, and if Config.WatchEach or
// Config.WatchImmutable is set.
type watchEach struct {
	client  kubernetes.Interface
	counter *watchCounter
	notify  func(Ref)
	// pins is true if immutable objects need no watch, because pods are pinned to them.
	pins bool

	mu      sync.Mutex
	ctx     context.Context // the context of run; nil before
	watches map[Ref]*objectWatch
	running sync.WaitGroup
}

// objectWatch is the watch of one object.
type objectWatch struct {
	// pods are the pods that use the object.
	pods map[cache.ObjectName]bool
	stop context.CancelFunc
	// store holds the object, if it exists.
	store *objectStore
}

func (f *watchEach) run(ctx context.Context) {
	f.mu.Lock()
	f.ctx = ctx
	for ref, one := range f.watches {
		f.start(ref, one)
	}
	f.mu.Unlock()
	<-ctx.Done()
	// start checks ctx under the lock, so no watch starts after this point. A call that
	// is just starting a watch still holds the lock; wait for it.
	f.mu.Lock()
	f.mu.Unlock() //nolint:staticcheck // the empty critical section is the wait
	f.running.Wait()
}

func (f *watchEach) synced() bool { return true }

func (f *watchEach) seesNewObjects() bool { return true }

func (f *watchEach) current(ref Ref) (*Object, bool) {
	f.mu.Lock()
	one := f.watches[ref]
	f.mu.Unlock()
	if one == nil || !one.store.isSynced() {
		return nil, false
	}
	object := one.store.get(ref)
	if object != nil && object.Immutable && f.pins {
		return nil, false
	}
	return object, true
}

func (f *watchEach) watch(ref Ref, pod cache.ObjectName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.watches[ref]
	if one == nil {
		if f.watches == nil {
			f.watches = map[Ref]*objectWatch{}
		}
		one = &objectWatch{pods: map[cache.ObjectName]bool{}}
		f.watches[ref] = one
		f.start(ref, one)
	}
	one.pods[pod] = true
}

// start starts the watch of an object. The caller holds the lock.
func (f *watchEach) start(ref Ref, one *objectWatch) {
	one.store = &objectStore{notify: func(Ref) { f.changedObject(ref, one) }}
	if f.ctx == nil || f.ctx.Err() != nil {
		return
	}
	ctx, stop := context.WithCancel(f.ctx)
	one.stop = stop
	lw, example := f.counter.listWatch(f.client, ref.Kind, scope{
		namespace: ref.Namespace, selector: fields.OneTermEqualSelector("metadata.name", ref.Name).String(),
	})
	reflector := cache.NewReflectorWithOptions(lw, example, one.store, cache.ReflectorOptions{Name: ref.String()})
	f.running.Go(func() { reflector.RunWithContext(withoutLog(ctx)) })
}

// changedObject is called after each change of an object. It stops the watch of an
// object that has become immutable: its content does not change any more.
func (f *watchEach) changedObject(ref Ref, one *objectWatch) {
	if object := one.store.get(ref); object != nil && object.Immutable && f.pins {
		f.mu.Lock()
		if f.watches[ref] == one {
			f.end(ref, one)
		}
		f.mu.Unlock()
	}
	f.notify(ref)
}

func (f *watchEach) unwatch(ref Ref, pod cache.ObjectName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.watches[ref]
	if one == nil {
		return
	}
	delete(one.pods, pod)
	if len(one.pods) == 0 {
		f.end(ref, one)
	}
}

// end stops the watch of an object. The caller holds the lock.
func (f *watchEach) end(ref Ref, one *objectWatch) {
	delete(f.watches, ref)
	if one.stop != nil {
		one.stop()
	}
}

package node

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// followEach follows every object by a watch of its own, as kubelets do: for
// servers that do not know the selector of followAll, and for agents that are
// told to watch immutable objects too.
type followEach struct {
	client  kubernetes.Interface
	watches *watching
	changed func(Ref)
	// pins says that immutable objects need no watch.
	pins bool

	mu      sync.Mutex
	ctx     context.Context // from run; nil before
	each    map[Ref]*followed
	running sync.WaitGroup
}

// followed is an object with a watch.
type followed struct {
	pods map[cache.ObjectName]bool
	stop context.CancelFunc
	// store has the object, if it exists.
	store *objectStore
}

func (f *followEach) run(ctx context.Context) {
	f.mu.Lock()
	f.ctx = ctx
	for ref, one := range f.each {
		f.start(ref, one)
	}
	f.mu.Unlock()
	<-ctx.Done()
	// Nothing starts any more: start looks at ctx under the lock.
	f.mu.Lock()
	f.mu.Unlock() //nolint:staticcheck // whoever was starting something has done so
	f.running.Wait()
}

func (f *followEach) synced() bool { return true }

func (f *followEach) sees() bool { return true }

func (f *followEach) current(ref Ref) (*Object, bool) {
	f.mu.Lock()
	one := f.each[ref]
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

func (f *followEach) follow(ref Ref, pod cache.ObjectName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.each[ref]
	if one == nil {
		if f.each == nil {
			f.each = map[Ref]*followed{}
		}
		one = &followed{pods: map[cache.ObjectName]bool{}}
		f.each[ref] = one
		f.start(ref, one)
	}
	one.pods[pod] = true
}

// start begins the watch. The caller has the lock.
func (f *followEach) start(ref Ref, one *followed) {
	one.store = &objectStore{changed: func(Ref) { f.seen(ref, one) }}
	if f.ctx == nil || f.ctx.Err() != nil {
		return
	}
	ctx, stop := context.WithCancel(f.ctx)
	one.stop = stop
	lw, example := f.watches.objects(f.client, ref.Kind, scope{
		namespace: ref.Namespace, selector: fields.OneTermEqualSelector("metadata.name", ref.Name).String(),
	})
	reflector := cache.NewReflectorWithOptions(lw, example, one.store, cache.ReflectorOptions{Name: ref.String()})
	f.running.Go(func() { reflector.RunWithContext(silently(ctx)) })
}

// seen is called after each change. An object that turned immutable has no more
// changes to wait for.
func (f *followEach) seen(ref Ref, one *followed) {
	if object := one.store.get(ref); object != nil && object.Immutable && f.pins {
		f.mu.Lock()
		if f.each[ref] == one {
			f.end(ref, one)
		}
		f.mu.Unlock()
	}
	f.changed(ref)
}

func (f *followEach) unfollow(ref Ref, pod cache.ObjectName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.each[ref]
	if one == nil {
		return
	}
	delete(one.pods, pod)
	if len(one.pods) == 0 {
		f.end(ref, one)
	}
}

// end ends the watch. The caller has the lock.
func (f *followEach) end(ref Ref, one *followed) {
	delete(f.each, ref)
	if one.stop != nil {
		one.stop()
	}
}

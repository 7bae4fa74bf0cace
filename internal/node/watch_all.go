package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/projection"
)

// usedByNode is the field selector of Holdfast servers for the mutable objects that the
// pods of a node use, in all namespaces.
const usedByNode = "holdfast.dev/used-by-node"

// idleTimeout is how long a watch stays open after the last pod stopped using it.
const idleTimeout = 5 * time.Second

// watchAll watches all mutable objects of the node with one watch for each kind. It
// opens no watch for a kind while pods use only immutable objects of that kind.
//
// The server sends the mutable objects that pods of the node use. An object that it
// does not send, or removes from the watch, may be missing, immutable or unused: the
// agent has to read it to find out.
type watchAll struct {
	kinds map[projection.Kind]*kindWatcher
}

func newWatchAll(a *Agent) *watchAll {
	f := &watchAll{kinds: map[projection.Kind]*kindWatcher{}}
	for _, kind := range []projection.Kind{projection.ConfigMap, projection.Secret} {
		f.kinds[kind] = &kindWatcher{
			agent: a, kind: kind, store: &objectStore{notify: a.enqueueUsers},
			uses: map[objectUse]bool{}, changed: make(chan struct{}, 1),
		}
	}
	return f
}

func (f *watchAll) run(ctx context.Context) {
	var running sync.WaitGroup
	for _, kind := range f.kinds {
		running.Go(func() { kind.run(ctx) })
	}
	running.Wait()
}

func (f *watchAll) synced() bool {
	for _, kind := range f.kinds {
		if !kind.store.isSynced() {
			return false
		}
	}
	return true
}

func (f *watchAll) current(ref Ref) (*Object, bool) {
	object := f.kinds[ref.Kind].store.get(ref)
	// The store may hold an object that has just become immutable. The resolver then
	// has to read and pin it.
	return object, object != nil && !object.Immutable
}

func (f *watchAll) watch(ref Ref, pod cache.ObjectName) {
	f.kinds[ref.Kind].add(objectUse{ref, pod})
}

func (f *watchAll) unwatch(ref Ref, pod cache.ObjectName) {
	f.kinds[ref.Kind].remove(objectUse{ref, pod})
}

func (f *watchAll) seesNewObjects() bool { return false }

// kindWatcher watches the objects of one kind.
type kindWatcher struct {
	agent *Agent
	kind  projection.Kind
	store *objectStore

	mu   sync.Mutex
	uses map[objectUse]bool
	// changed receives a value when the first use is added or the last one removed.
	changed chan struct{}
}

// objectUse is one use of an object by a pod.
type objectUse struct {
	ref Ref
	pod cache.ObjectName
}

func (f *kindWatcher) add(use objectUse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.uses[use] {
		return
	}
	f.uses[use] = true
	if len(f.uses) == 1 {
		f.signal()
	}
}

func (f *kindWatcher) remove(use objectUse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.uses[use] {
		return
	}
	delete(f.uses, use)
	if len(f.uses) == 0 {
		f.signal()
	}
}

// signal wakes run up. One pending signal is enough, since run reads uses again.
func (f *kindWatcher) signal() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *kindWatcher) inUse() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.uses) > 0
}

// run opens the watch at the start, to list the objects in use, and keeps it open
// while there are uses and for idleTimeout afterwards. It opens the watch again when
// a use is added.
func (f *kindWatcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		watching, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { f.reflector().RunWithContext(withoutLog(watching)) })
		f.waitUntilUnused(ctx)
		stop()
		running.Wait()
		f.store.clear()
		for !f.inUse() && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-f.changed:
			}
		}
	}
}

// waitUntilUnused returns when there have been no uses for idleTimeout and the first
// list is complete.
func (f *kindWatcher) waitUntilUnused(ctx context.Context) {
	for {
		if f.inUse() {
			select {
			case <-ctx.Done():
				return
			case <-f.changed:
			}
			continue
		}
		idle := f.agent.Clock.NewTimer(idleTimeout)
		select {
		case <-ctx.Done():
			idle.Stop()
			return
		case <-f.changed:
			idle.Stop()
		case <-idle.C():
			if !f.inUse() && f.store.isSynced() {
				return
			}
		}
	}
}

func (f *kindWatcher) reflector() *cache.Reflector {
	a := f.agent
	lw, example := a.watches.listWatch(a.Client, f.kind, scope{selector: usedByNode + "=" + a.Name})
	return cache.NewReflectorWithOptions(lw, example, f.store, cache.ReflectorOptions{
		Name: fmt.Sprintf("%ss used by node %s", f.kind, a.Name),
	})
}

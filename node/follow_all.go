package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/projection"
)

// usedByNode is the field by which a node selects, in one watch over all
// namespaces, the mutable objects that its pods use.
const usedByNode = "holdfast.dev/used-by-node"

// linger is how long a watch stays that nothing needs any more.
const linger = 5 * time.Second

// followAll follows all objects of the node by one watch for each kind. The
// server sends what pods of the node use and is mutable; that an object is not
// sent, or no longer, does not say why. A kind of which only immutable objects
// are in use has no watch.
type followAll struct {
	kinds map[projection.Kind]*followKind
}

func newFollowAll(a *Agent) *followAll {
	f := &followAll{kinds: map[projection.Kind]*followKind{}}
	for _, kind := range []projection.Kind{projection.ConfigMap, projection.Secret} {
		f.kinds[kind] = &followKind{
			agent: a, kind: kind, store: &objectStore{changed: a.changed},
			users: map[needing]bool{}, turned: make(chan struct{}, 1),
		}
	}
	return f
}

func (f *followAll) run(ctx context.Context) {
	var running sync.WaitGroup
	for _, kind := range f.kinds {
		running.Go(func() { kind.run(ctx) })
	}
	running.Wait()
}

func (f *followAll) synced() bool {
	for _, kind := range f.kinds {
		if !kind.store.isSynced() {
			return false
		}
	}
	return true
}

func (f *followAll) current(ref Ref) (*Object, bool) {
	object := f.kinds[ref.Kind].store.get(ref)
	// One that has just turned immutable is not followed any more.
	return object, object != nil && !object.Immutable
}

func (f *followAll) follow(ref Ref, pod cache.ObjectName) {
	f.kinds[ref.Kind].use(needing{ref, pod}, true)
}

func (f *followAll) unfollow(ref Ref, pod cache.ObjectName) {
	f.kinds[ref.Kind].use(needing{ref, pod}, false)
}

func (f *followAll) sees() bool { return false }

// followKind follows the objects of one kind.
type followKind struct {
	agent *Agent
	kind  projection.Kind
	store *objectStore

	mu    sync.Mutex
	users map[needing]bool
	// turned has something in it when users began or ceased to be there.
	turned chan struct{}
}

// needing is a pod that needs to know of an object.
type needing struct {
	ref Ref
	pod cache.ObjectName
}

func (f *followKind) use(n needing, needs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.users)
	if needs {
		f.users[n] = true
	} else {
		delete(f.users, n)
	}
	if (before == 0) != (len(f.users) == 0) {
		select {
		case f.turned <- struct{}{}:
		default:
		}
	}
}

func (f *followKind) needed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.users) > 0
}

// run watches, at first to learn what there is, and then as long as there are
// users and a little longer.
func (f *followKind) run(ctx context.Context) {
	for ctx.Err() == nil {
		watching, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { f.reflector().RunWithContext(silently(watching)) })
		f.whileNeeded(ctx)
		stop()
		running.Wait()
		f.store.clear()
		for !f.needed() && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-f.turned:
			}
		}
	}
}

// whileNeeded returns when there have been no users for a time.
func (f *followKind) whileNeeded(ctx context.Context) {
	for {
		if f.needed() {
			select {
			case <-ctx.Done():
				return
			case <-f.turned:
			}
			continue
		}
		idle := f.agent.Clock.NewTimer(linger)
		select {
		case <-ctx.Done():
			idle.Stop()
			return
		case <-f.turned:
			idle.Stop()
		case <-idle.C():
			if !f.needed() && f.store.isSynced() {
				return
			}
		}
	}
}

func (f *followKind) reflector() *cache.Reflector {
	a := f.agent
	lw, example := a.watches.objects(a.Client, f.kind, scope{selector: usedByNode + "=" + a.Name})
	return cache.NewReflectorWithOptions(lw, example, f.store, cache.ReflectorOptions{
		Name: fmt.Sprintf("%ss used by node %s", f.kind, a.Name),
	})
}

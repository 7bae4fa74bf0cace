package garbage

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// listsAtOnce bounds how many stored kinds are listed at the same time.
const listsAtOnce = 8

// storedKinds watches kinds where they are stored, with one watch for each API group. A
// watch of each kind through the API would keep the schema and the watch cache of every custom
// resource in memory, also of those that nobody uses.
type storedKinds struct {
	stored  Stored
	running sync.WaitGroup
	// lists has an element for each list that is under way.
	lists chan struct{}

	mu     sync.Mutex
	groups map[string]*groupWatch
}

func newStoredKinds(stored Stored) *storedKinds {
	return &storedKinds{stored: stored, lists: make(chan struct{}, listsAtOnce), groups: map[string]*groupWatch{}}
}

// has reports whether a kind can be watched where it is stored.
func (s *storedKinds) has(k *kind) bool {
	return s.stored != nil && s.stored.Has(k.GroupVersionResource)
}

// list reads the objects of a kind when few others are being read.
func (s *storedKinds) list(ctx context.Context, resource schema.GroupResource) (List, error) {
	select {
	case s.lists <- struct{}{}:
		defer func() { <-s.lists }()
		return s.stored.List(ctx, resource, "")
	case <-ctx.Done():
		return List{}, ctx.Err()
	}
}

// watch passes the objects of a kind to its monitor. The returned function ends that.
func (s *storedKinds) watch(ctx context.Context, m *monitor) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := m.kind.Group
	group := s.groups[name]
	if group == nil {
		group = &groupWatch{kinds: s, name: name, feeds: map[schema.GroupResource]*feed{}}
		group.ctx, group.cancel = context.WithCancel(ctx)
		s.groups[name] = group
		s.running.Go(group.run)
	}
	f := &feed{monitor: m}
	group.add(f)
	return func() {
		f.stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		if group.remove(f) == 0 && s.groups[name] == group {
			group.cancel()
			delete(s.groups, name)
		}
	}
}

// groupWatch watches the stored objects of one API group.
type groupWatch struct {
	kinds  *storedKinds
	name   string
	ctx    context.Context //nolint:containedctx // it ends with the watch
	cancel context.CancelFunc

	mu    sync.Mutex
	feeds map[schema.GroupResource]*feed
	// begun says that the watch sees all changes, so that a list can begin.
	begun bool
}

func (g *groupWatch) run() {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := g.kinds.stored.Watch(g.ctx, g.name, g.begin, g.change)
		if g.ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "stored objects cannot be watched, will be tried again", "controller", "garbage", "group", g.name)
		if g.end(err) {
			wait = firstRetry
		}
		select {
		case <-g.ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// begin lists the objects of all kinds of the group.
func (g *groupWatch) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun = true
	for _, f := range g.feeds {
		g.list(f)
	}
}

// end records that the watch ended. It reports whether the watch had begun.
func (g *groupWatch) end(err error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.feeds {
		f.fail(g.ctx, err)
	}
	begun := g.begun
	g.begun = false
	return begun
}

// list starts to list the objects of a kind.
func (g *groupWatch) list(f *feed) {
	attempt := f.begin()
	g.kinds.running.Go(func() { f.list(g.ctx, g.kinds, attempt) })
}

// change passes a change to the kind that it belongs to.
func (g *groupWatch) change(change Change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.feeds[change.Resource]; f != nil && !f.change(change) {
		g.list(f)
	}
}

// add adds a kind. If another version of the same resource is there, it gets nothing any more.
func (g *groupWatch) add(f *feed) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.feeds[f.monitor.kind.GroupResource()] = f
	if g.begun {
		g.list(f)
	}
}

// remove removes a kind and returns the number of those that are left.
func (g *groupWatch) remove(f *feed) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if resource := f.monitor.kind.GroupResource(); g.feeds[resource] == f {
		delete(g.feeds, resource)
	}
	return len(g.feeds)
}

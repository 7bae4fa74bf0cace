package stored

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// Watches are the watches of API groups. They are safe for concurrent use.
type Watches[T any] struct {
	objects Objects[T]
	// component is the part of the server that the log names.
	component string
	running   sync.WaitGroup
	// lists has an element for each list that is under way.
	lists chan struct{}

	mu     sync.Mutex
	groups map[string]*group[T]
}

// New returns the watches of a part of the server.
func New[T any](component string, objects Objects[T]) *Watches[T] {
	return &Watches[T]{objects: objects, component: component, lists: make(chan struct{}, listsAtOnce), groups: map[string]*group[T]{}}
}

// Wait waits until everything has ended that Follow started. The contexts must have ended.
func (w *Watches[T]) Wait() { w.running.Wait() }

// list reads the objects of a kind when few others are being read.
func (w *Watches[T]) list(ctx context.Context, resource schema.GroupResource) (List[T], error) {
	select {
	case w.lists <- struct{}{}:
		defer func() { <-w.lists }()
		return w.objects.List(ctx, resource)
	case <-ctx.Done():
		return List[T]{}, ctx.Err()
	}
}

// Follow passes the objects of a resource to a receiver, until ctx ends or until the returned function is called. If the resource has
// another receiver, that one gets nothing any more. All contexts must end at the same time.
func (w *Watches[T]) Follow(ctx context.Context, resource schema.GroupResource, receiver Receiver[T]) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := resource.Group
	g := w.groups[name]
	if g == nil {
		g = &group[T]{watches: w, name: name, feeds: map[schema.GroupResource]*feed[T]{}}
		g.ctx, g.cancel = context.WithCancel(ctx)
		w.groups[name] = g
		w.running.Go(g.run)
	}
	f := &feed[T]{resource: resource, receiver: receiver}
	g.add(f)
	return func() {
		f.stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		if g.remove(f) == 0 && w.groups[name] == g {
			g.cancel()
			delete(w.groups, name)
		}
	}
}

// group watches the stored objects of one API group.
type group[T any] struct {
	watches *Watches[T]
	name    string
	ctx     context.Context //nolint:containedctx // it ends with the watch
	cancel  context.CancelFunc

	mu    sync.Mutex
	feeds map[schema.GroupResource]*feed[T]
	// begun says that the watch sees all changes, so that a list can begin.
	begun bool
}

func (g *group[T]) run() {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := g.watches.objects.Watch(g.ctx, g.name, g.begin, g.change)
		if g.ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "stored objects cannot be watched, will be tried again", "component", g.watches.component, "group", g.name)
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
func (g *group[T]) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun = true
	for _, f := range g.feeds {
		g.list(f)
	}
}

// end records that the watch ended. It reports whether the watch had begun.
func (g *group[T]) end(err error) bool {
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
func (g *group[T]) list(f *feed[T]) {
	attempt := f.begin()
	g.watches.running.Go(func() { f.list(g.ctx, g.watches, attempt) })
}

// change passes a change to the kind that it belongs to.
func (g *group[T]) change(change Change[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.feeds[change.Resource]; f != nil && !f.change(change) {
		g.list(f)
	}
}

// add adds a kind.
func (g *group[T]) add(f *feed[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.feeds[f.resource] = f
	if g.begun {
		g.list(f)
	}
}

// remove removes a kind and returns the number of those that are left.
func (g *group[T]) remove(f *feed[T]) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.feeds[f.resource] == f {
		delete(g.feeds, f.resource)
	}
	return len(g.feeds)
}

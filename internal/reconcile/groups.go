package reconcile

import (
	"slices"
	"sync"
)

// groups counts the keys of each group that are reconciled, and keeps the keys that wait for
// others of their group.
type groups[K comparable] struct {
	mu     sync.Mutex
	groups map[string]*group[K]
}

// group is one group. It is dropped when no key of it is reconciled or waits.
type group[K comparable] struct {
	running int
	// waiting are the keys that wait, in the order in which they came, and isWaiting the
	// same keys as a set.
	waiting   []K
	isWaiting map[K]bool
}

// enter reports whether a worker may reconcile a key now. Otherwise the key waits, and leave
// enqueues it again.
func (l *Loop[K]) enter(key K) bool {
	if l.config.Group == nil {
		return true
	}
	name := l.config.Group(key)
	l.groups.mu.Lock()
	defer l.groups.mu.Unlock()
	if l.groups.groups == nil {
		l.groups.groups = map[string]*group[K]{}
	}
	g := l.groups.groups[name]
	if g == nil {
		g = &group[K]{isWaiting: map[K]bool{}}
		l.groups.groups[name] = g
	}
	if g.running < l.config.WorkersPerGroup {
		g.running++
		return true
	}
	if !g.isWaiting[key] {
		g.isWaiting[key] = true
		g.waiting = append(g.waiting, key)
	}
	return false
}

// leave ends the work for a key. It enqueues the next key of the group that waits.
func (l *Loop[K]) leave(key K) {
	if l.config.Group == nil {
		return
	}
	name := l.config.Group(key)
	l.groups.mu.Lock()
	defer l.groups.mu.Unlock()
	g := l.groups.groups[name]
	g.running--
	switch {
	case len(g.waiting) > 0:
		next := g.waiting[0]
		g.waiting = slices.Delete(g.waiting, 0, 1)
		delete(g.isWaiting, next)
		l.queue.Add(next)
	case g.running == 0:
		delete(l.groups.groups, name)
	}
}

package quota

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// counts holds the number of objects of every kind in every namespace.
type counts struct {
	// discovered says that kinds contains every kind that the server has.
	discovered bool
	kinds      map[schema.GroupResource]*watchedKind
	objects    map[kindInNamespace]int64
}

// watchedKind is a kind that the garbage collector watches.
type watchedKind struct {
	// watches is the number of watches. It is two for a while when the kind is watched in
	// another version.
	watches int
	// listed says that all existing objects are counted.
	listed bool
}

type kindInNamespace struct {
	resource  schema.GroupResource
	namespace string
}

// complete reports whether the number of objects of a kind is known. It is known to be
// zero for a kind that the server does not have.
func (c *counts) complete(resource schema.GroupResource) bool {
	k := c.kinds[resource]
	return c.discovered && (k == nil || k.listed)
}

// WatchStarted implements garbage.Counter.
func (l *Ledger) WatchStarted(resource schema.GroupResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.counts.kinds[resource]
	if k == nil {
		k = &watchedKind{}
		l.counts.kinds[resource] = k
	}
	k.watches++
	k.listed = false
}

// Listed implements garbage.Counter.
func (l *Ledger) Listed(resource schema.GroupResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.counts.kinds[resource]; k != nil {
		k.listed = true
		l.enqueueAll(resource)
	}
}

// WatchStopped implements garbage.Counter.
func (l *Ledger) WatchStopped(resource schema.GroupResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.counts.kinds[resource]
	if k == nil {
		return
	}
	k.watches--
	if k.watches == 0 {
		delete(l.counts.kinds, resource)
		l.enqueueAll(resource)
	}
}

// Discovered implements garbage.Counter.
func (l *Ledger) Discovered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts.discovered {
		return
	}
	l.counts.discovered = true
	for namespace, accounts := range l.accounts {
		for name := range accounts {
			l.enqueue(cache.NewObjectName(namespace, name))
		}
	}
}

// Count implements garbage.Counter. It releases usage only while all objects of the kind
// are listed. Otherwise a change of -1 may come from a watch that stopped, and the object
// may still exist.
func (l *Ledger) Count(resource schema.GroupResource, namespace string, change int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := kindInNamespace{resource: resource, namespace: namespace}
	if l.counts.objects[key] += change; l.counts.objects[key] == 0 {
		delete(l.counts.objects, key)
	}
	k := l.counts.kinds[resource]
	for name, a := range l.accounts[namespace] {
		for limited, counted := range a.counted {
			if counted != resource || len(a.scopes) > 0 {
				continue
			}
			if change < 0 && k != nil && k.listed {
				a.release(limited, number(int(-change)))
			}
			l.enqueue(cache.NewObjectName(namespace, name))
		}
	}
}

// enqueueAll enqueues every quota that limits the number of objects of the kind.
func (l *Ledger) enqueueAll(resource schema.GroupResource) {
	for namespace, accounts := range l.accounts {
		for name, a := range accounts {
			for _, counted := range a.counted {
				if counted == resource {
					l.enqueue(cache.NewObjectName(namespace, name))
				}
			}
		}
	}
}

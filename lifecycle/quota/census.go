package quota

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// census is the number of objects of every kind in every namespace.
type census struct {
	// known says that the kinds are those the server has.
	known  bool
	kinds  map[schema.GroupResource]*kind
	counts map[place]int64
}

// kind is one kind whose objects are watched.
type kind struct {
	// watches are more than one while the version of a kind changes.
	watches int
	// listed says that all objects there are have been counted.
	listed bool
}

// place is where objects of a kind are counted.
type place struct {
	resource  schema.GroupResource
	namespace string
}

// complete reports whether the number of objects of a kind is known. Of a kind
// that the server does not have, there are none.
func (c *census) complete(resource schema.GroupResource) bool {
	k := c.kinds[resource]
	return c.known && (k == nil || k.listed)
}

// Begin is called when a watch of a kind begins.
func (l *Ledger) Begin(resource schema.GroupResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.census.kinds[resource]
	if k == nil {
		k = &kind{}
		l.census.kinds[resource] = k
	}
	k.watches++
	k.listed = false
}

// Listed is called when a watch has shown all objects of its kind.
func (l *Ledger) Listed(resource schema.GroupResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.census.kinds[resource]; k != nil {
		k.listed = true
		l.enqueueAll(resource)
	}
}

// End is called when a watch of a kind ends; the objects it showed are taken out
// after that, and are not taken to be gone.
func (l *Ledger) End(resource schema.GroupResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.census.kinds[resource]
	if k == nil {
		return
	}
	k.watches--
	if k.watches == 0 {
		delete(l.census.kinds, resource)
		l.enqueueAll(resource)
	}
}

// Discovered is called when there is a watch for every kind the server has.
func (l *Ledger) Discovered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.census.known {
		return
	}
	l.census.known = true
	for namespace, accounts := range l.accounts {
		for name := range accounts {
			l.enqueue(cache.NewObjectName(namespace, name))
		}
	}
}

// Count is called with 1 for an object that came into a namespace, and with -1
// for one that went.
func (l *Ledger) Count(resource schema.GroupResource, namespace string, change int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := place{resource: resource, namespace: namespace}
	if l.census.counts[at] += change; l.census.counts[at] == 0 {
		delete(l.census.counts, at)
	}
	k := l.census.kinds[resource]
	for name, a := range l.accounts[namespace] {
		for limited, counted := range a.counts {
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

// enqueueAll has every quota looked at that counts a kind.
func (l *Ledger) enqueueAll(resource schema.GroupResource) {
	for namespace, accounts := range l.accounts {
		for name, a := range accounts {
			for _, counted := range a.counts {
				if counted == resource {
					l.enqueue(cache.NewObjectName(namespace, name))
				}
			}
		}
	}
}

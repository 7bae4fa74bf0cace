package garbage

import (
	"slices"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/replacement"
)

// graph holds the objects that the watches have seen, and the dependents of each owner. It
// calls enqueue with the UID of each object that the collector has to process. Its methods
// are safe for concurrent use.
type graph struct {
	enqueue func(types.UID)
	counter Counter

	mu      sync.Mutex
	objects map[types.UID]*object
	owners  map[types.UID]*owner
	// kept are the objects that the server refused to delete because they must be kept.
	kept map[types.UID]struct{}
}

// owner is the target of owner references. There is an owner for every UID in an owner
// reference, even if no watch has seen an object with this UID.
type owner struct {
	// dependents are the UIDs of the objects with a reference to the owner.
	dependents map[types.UID]struct{}
	// absent are the keys at which no object with the UID of the owner exists. UIDs are
	// never used again, so the entries stay valid.
	absent map[objectKey]struct{}
	// records are those of the owner that were read, by the group, kind and name in a reference and the namespace of its object; nil if
	// there is none.
	records map[objectKey]*replacement.Record
}

func newGraph(enqueue func(types.UID), counter Counter) *graph {
	return &graph{
		enqueue: enqueue, counter: counter, objects: map[types.UID]*object{}, owners: map[types.UID]*owner{},
		kept: map[types.UID]struct{}{},
	}
}

// observe adds or replaces an object that a watch has seen.
func (g *graph) observe(o *object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.add(o)
}

// add is observe for callers that hold the lock.
func (g *graph) add(o *object) {
	if g.objects[o.uid] == nil {
		g.count(o, 1)
	}
	g.set(o)
}

// set adds or replaces an object. The caller counts it.
func (g *graph) set(o *object) {
	old := g.objects[o.uid]
	g.objects[o.uid] = o
	if old == nil {
		old = &object{}
		// A reference may have the UID of the object, but another name or kind. The
		// dependents with such a reference have to be processed. The others need not,
		// because their owner exists.
		for uid := range g.dependentsOf(o.uid) {
			if dependent := g.objects[uid]; dependent != nil && !g.allSolid(dependent) {
				g.enqueue(uid)
			}
		}
	}
	g.changeOwners(old, o)
	if _, found := g.kept[o.uid]; found && o.version != old.version {
		g.enqueue(o.uid) // perhaps it need not be kept any more
	}
	if !o.deleting {
		return
	}
	delete(g.kept, o.uid)
	if o.waitsForDependents() && !old.waitsForDependents() {
		for uid := range g.dependentsOf(o.uid) {
			g.enqueue(uid)
		}
	}
	if o.orphan || o.foreground {
		g.enqueue(o.uid)
	}
}

func (g *graph) count(o *object, change int64) {
	if o.namespace != "" {
		g.counter.Count(o.kind.GroupResource(), o.namespace, change)
	}
}

// changeOwners updates the dependents of the owners of an object.
func (g *graph) changeOwners(oldObj, newObj *object) {
	if apiequality.Semantic.DeepEqual(oldObj.owners, newObj.owners) {
		return
	}
	for _, ref := range oldObj.owners {
		if !newObj.hasOwner(ref.UID) {
			g.removeDependent(ref.UID, newObj.uid)
		}
		if !newObj.blocks(ref.UID) {
			g.enqueueWaiting(ref.UID)
		}
	}
	for _, ref := range newObj.owners {
		found := g.owners[ref.UID]
		if found == nil {
			found = &owner{dependents: map[types.UID]struct{}{}}
			g.owners[ref.UID] = found
		}
		found.dependents[newObj.uid] = struct{}{}
	}
	if !g.allSolid(newObj) {
		g.enqueue(newObj.uid)
	}
}

// removeDependent removes a dependent of an owner. An owner without dependents is removed.
func (g *graph) removeDependent(uid, dependent types.UID) {
	found := g.owners[uid]
	if found == nil {
		return
	}
	delete(found.dependents, dependent)
	if len(found.dependents) == 0 {
		delete(g.owners, uid)
	}
}

// enqueueWaiting enqueues an owner that waits for its dependents. It is called when a
// dependent may have stopped blocking the owner.
func (g *graph) enqueueWaiting(uid types.UID) {
	if o := g.objects[uid]; o != nil && o.waitsForDependents() {
		g.enqueue(uid)
	}
}

func (g *graph) dependentsOf(uid types.UID) map[types.UID]struct{} {
	if found := g.owners[uid]; found != nil {
		return found.dependents
	}
	return nil
}

// allSolid reports whether all references of an object are solid.
func (g *graph) allSolid(o *object) bool {
	return !slices.ContainsFunc(o.owners, func(ref metav1.OwnerReference) bool {
		owner := g.objects[ref.UID]
		return owner == nil || !owner.isOwnerOf(o, ref) || owner.waitsForDependents()
	})
}

// deleted removes an object after a watch has reported its deletion.
func (g *graph) deleted(uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.objects[uid]; o != nil {
		g.markAbsent(uid, o.key())
		g.forget(o)
	}
}

// change updates an object after a watch has reported a change of it. If the graph does not have its UID, the object has replaced the one
// of the same kind and name. To find that one, change goes through all objects: replacements are rare, and an index by name would cost
// memory for each object.
func (g *graph) change(o *object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.objects[o.uid] == nil {
		for _, old := range g.objects {
			if old.kind == o.kind && old.key() == o.key() {
				g.swap(old, o)
				return
			}
		}
	}
	g.add(o)
}

// replaced removes the object with a UID, and adds the one that has replaced it.
func (g *graph) replaced(uid types.UID, o *object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if old := g.objects[uid]; old != nil {
		g.swap(old, o)
	} else {
		g.add(o)
	}
}

// swap removes an object, and adds the one that has replaced it. The number of objects stays the same at every moment: with one less, a
// quota would admit another object.
func (g *graph) swap(old, o *object) {
	g.set(o)
	g.markAbsent(old.uid, old.key())
	g.drop(old)
}

// forget removes an object from the graph, see drop.
func (g *graph) forget(o *object) {
	g.count(o, -1)
	g.drop(o)
}

// drop removes an object from the graph, enqueues its dependents, and enqueues owners
// that wait for it. The caller counts it.
func (g *graph) drop(o *object) {
	delete(g.objects, o.uid)
	delete(g.kept, o.uid)
	for uid := range g.dependentsOf(o.uid) {
		g.enqueue(uid)
	}
	for _, ref := range o.owners {
		g.removeDependent(ref.UID, o.uid)
		g.enqueueWaiting(ref.UID)
	}
}

// replace replaces all objects of a kind. It forgets the objects that are not in the list,
// but does not treat them as deleted. Before the collector deletes the dependents of a
// forgotten object, it reads that object from the server.
func (g *graph) replace(k *kind, objects []*object) {
	seen := make(map[types.UID]struct{}, len(objects))
	for _, o := range objects {
		seen[o.uid] = struct{}{}
		g.observe(o)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid, o := range g.objects {
		if _, ok := seen[uid]; !ok && o.kind == k {
			g.forget(o)
		}
	}
}

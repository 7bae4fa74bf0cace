package garbage

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// state is the state of an owner reference, see the package documentation.
type state int

const (
	unknown state = iota
	solid
	dangling
	waiting
)

// get returns an object, or nil if no watch has seen it.
func (g *graph) get(uid types.UID) *object {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.objects[uid]
}

// ownerState returns the state of an owner reference of o. key identifies the owner.
func (g *graph) ownerState(o *object, ref metav1.OwnerReference, key objectKey) state {
	g.mu.Lock()
	defer g.mu.Unlock()
	owner := g.objects[ref.UID]
	if owner != nil && owner.isOwnerOf(o, ref) {
		if owner.waitsForDependents() {
			return waiting
		}
		return solid
	}
	if found := g.owners[ref.UID]; found != nil {
		if _, absent := found.absent[key]; absent {
			return dangling
		}
	}
	return unknown
}

// sawDeletion reports whether the owner of a reference is known to be deleted. The kind of
// the owner is unknown, so it may have been cluster-scoped or in the namespace of o.
func (g *graph) sawDeletion(o *object, ref metav1.OwnerReference) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := g.owners[ref.UID]
	if found == nil {
		return false
	}
	key := objectKey{GroupKind: groupKindOf(ref), name: ref.Name}
	_, clusterScoped := found.absent[key]
	key.namespace = o.namespace
	_, namespaced := found.absent[key]
	return clusterScoped || namespaced
}

// setAbsent records that no object with the UID of the owner exists at the key.
func (g *graph) setAbsent(owner types.UID, key objectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.markAbsent(owner, key)
}

// markAbsent is setAbsent for callers that hold the lock.
func (g *graph) markAbsent(uid types.UID, key objectKey) {
	found := g.owners[uid]
	if found == nil {
		return
	}
	if found.absent == nil {
		found.absent = map[objectKey]struct{}{}
	}
	found.absent[key] = struct{}{}
}

// dependents returns the dependents of an owner that the filter selects.
func (g *graph) dependents(owner types.UID, filter func(*object) bool) []*object {
	g.mu.Lock()
	defer g.mu.Unlock()
	var selected []*object
	for uid := range g.dependentsOf(owner) {
		if o := g.objects[uid]; o != nil && filter(o) {
			selected = append(selected, o)
		}
	}
	return selected
}

func anyDependent(*object) bool { return true }

package garbage

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// standing is what is known of the owner that a reference names.
type standing int

const (
	unknown standing = iota
	solid
	dangling
	waiting
)

// get is an object as it was last seen, nil if it is not known.
func (g *graph) get(uid types.UID) *object {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.objects[uid]
}

// standing is that of a reference; at is where it leads.
func (g *graph) standing(o *object, ref metav1.OwnerReference, at place) standing {
	g.mu.Lock()
	defer g.mu.Unlock()
	owner := g.objects[ref.UID]
	if owner != nil && owner.isNamedBy(o, ref) {
		if owner.awaits() {
			return waiting
		}
		return solid
	}
	if f := g.families[ref.UID]; f != nil {
		if _, absent := f.absent[at]; absent {
			return dangling
		}
	}
	return unknown
}

// saw reports whether the owner that a reference names was seen going, in the
// namespace of the dependent or outside of all.
func (g *graph) saw(o *object, ref metav1.OwnerReference) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.families[ref.UID]
	if f == nil {
		return false
	}
	at := place{GroupKind: groupKindOf(ref), name: ref.Name}
	_, outside := f.absent[at]
	at.namespace = o.namespace
	_, inside := f.absent[at]
	return outside || inside
}

// setAbsent remembers that an owner is not at a place.
func (g *graph) setAbsent(owner types.UID, at place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.markAbsent(owner, at)
}

func (g *graph) markAbsent(owner types.UID, at place) {
	f := g.families[owner]
	if f == nil {
		return
	}
	if f.absent == nil {
		f.absent = map[place]struct{}{}
	}
	f.absent[at] = struct{}{}
}

// dependents are the members of a family that were chosen.
func (g *graph) dependents(owner types.UID, choose func(*object) bool) []*object {
	g.mu.Lock()
	defer g.mu.Unlock()
	var chosen []*object
	for member := range g.members(owner) {
		if o := g.objects[member]; o != nil && choose(o) {
			chosen = append(chosen, o)
		}
	}
	return chosen
}

func anyDependent(*object) bool { return true }

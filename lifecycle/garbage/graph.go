package garbage

import (
	"slices"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// graph knows the objects the watches have shown, and who depends on whom. It
// calls enqueue with the UID of each object that may need work. Its methods may
// be called at the same time.
type graph struct {
	enqueue func(types.UID)
	census  Census

	mu       sync.Mutex
	objects  map[types.UID]*object
	families map[types.UID]*family
}

// family are the dependents of one owner, whether the owner was seen or not.
type family struct {
	members map[types.UID]struct{}
	// absent are the places at which the owner is known not to be. UIDs do not
	// come back, so this holds for good.
	absent map[place]struct{}
}

func newGraph(enqueue func(types.UID), census Census) *graph {
	return &graph{enqueue: enqueue, census: census, objects: map[types.UID]*object{}, families: map[types.UID]*family{}}
}

// observe takes in an object as a watch shows it.
func (g *graph) observe(o *object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.objects[o.uid]
	g.objects[o.uid] = o
	if old == nil {
		old = &object{}
		g.count(o, 1)
		// Whoever names the object by its UID, and otherwise wrongly, is looked
		// at; whoever names it rightly has nothing to fear any more.
		for member := range g.members(o.uid) {
			if dependent := g.objects[member]; dependent != nil && !g.allSolid(dependent) {
				g.enqueue(member)
			}
		}
	}
	g.changeOwners(old, o)
	if !o.deleting {
		return
	}
	if o.awaits() && !old.awaits() {
		for member := range g.members(o.uid) {
			g.enqueue(member)
		}
	}
	if o.orphan || o.foreground {
		g.enqueue(o.uid)
	}
}

func (g *graph) count(o *object, change int64) {
	if o.namespace != "" {
		g.census.Count(o.kind.GroupResource(), o.namespace, change)
	}
}

// changeOwners moves an object between families.
func (g *graph) changeOwners(oldObj, newObj *object) {
	if apiequality.Semantic.DeepEqual(oldObj.owners, newObj.owners) {
		return
	}
	for _, ref := range oldObj.owners {
		if !newObj.hasOwner(ref.UID) {
			g.leave(ref.UID, newObj.uid)
		}
		if !newObj.blocks(ref.UID) {
			g.release(ref.UID)
		}
	}
	for _, ref := range newObj.owners {
		f := g.families[ref.UID]
		if f == nil {
			f = &family{members: map[types.UID]struct{}{}}
			g.families[ref.UID] = f
		}
		f.members[newObj.uid] = struct{}{}
	}
	if !g.allSolid(newObj) {
		g.enqueue(newObj.uid)
	}
}

// leave takes a member out of a family; a family without members is forgotten.
func (g *graph) leave(owner, member types.UID) {
	f := g.families[owner]
	if f == nil {
		return
	}
	delete(f.members, member)
	if len(f.members) == 0 {
		delete(g.families, owner)
	}
}

// release has an owner looked at that awaits its dependents: there may be one
// less.
func (g *graph) release(owner types.UID) {
	if o := g.objects[owner]; o != nil && o.awaits() {
		g.enqueue(owner)
	}
}

func (g *graph) members(owner types.UID) map[types.UID]struct{} {
	if f := g.families[owner]; f != nil {
		return f.members
	}
	return nil
}

// allSolid reports whether every owner of an object was seen and stays.
func (g *graph) allSolid(o *object) bool {
	return !slices.ContainsFunc(o.owners, func(ref metav1.OwnerReference) bool {
		owner := g.objects[ref.UID]
		return owner == nil || !owner.isNamedBy(o, ref) || owner.awaits()
	})
}

// deleted takes out an object that a watch showed going.
func (g *graph) deleted(uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.objects[uid]; o != nil {
		g.markAbsent(uid, o.place())
		g.forget(o)
	}
}

// forget takes out an object and has those looked at that depended on it.
func (g *graph) forget(o *object) {
	delete(g.objects, o.uid)
	g.count(o, -1)
	for member := range g.members(o.uid) {
		g.enqueue(member)
	}
	for _, ref := range o.owners {
		g.leave(ref.UID, o.uid)
		g.release(ref.UID)
	}
}

// replace makes objects all there are of one kind. Those that are not among
// them are forgotten, but not taken to be gone: that, the server is asked.
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

package ownership

import (
	"slices"
	"strings"
)

// walk follows a last-applied configuration through the object before and after
// a write.
type walk struct {
	path  Path
	found func(Finding)
}

// trio is one place in the configuration and in both objects.
type trio struct{ applied, live, updated any }

// plan is a configuration prepared for being followed: the values with the nodes
// of their places, in order. It is made once and followed by every write.
type plan struct {
	step  Step
	node  *node
	value any
	// earlier is the number of earlier items with the same keys.
	earlier int
	below   []plan
}

func newPlan(n *node, step Step, value any) plan {
	p := plan{step: step, node: n, value: value}
	switch n.shape {
	case record, mapping:
		object, _ := value.(map[string]any)
		for name, v := range object {
			if v != nil {
				p.below = append(p.below, newPlan(n.child(name), Step{Name: name}, v))
			}
		}
		slices.SortFunc(p.below, func(a, b plan) int { return strings.Compare(a.step.Name, b.step.Name) })
	case keyed:
		newItems(value, n.keys).each(func(item map[string]any, earlier int) {
			below := newPlan(n.elem, Step{Keys: n.keys, Item: item}, item)
			below.earlier = earlier
			p.below = append(p.below, below)
		})
	case members:
		list, _ := value.([]any)
		for _, member := range list {
			if member != nil {
				p.below = append(p.below, plan{step: Step{Member: member}, node: &node{}, value: member})
			}
		}
	}
	return p
}

func (w *walk) report(p *plan, live, updated any) {
	w.found(Finding{Path: append(Path(nil), w.path...), Live: live, New: updated, Applied: p.value})
}

func (w *walk) step(p *plan, live, updated any) {
	w.path = append(w.path, p.step)
	w.owned(p, live, updated)
	w.path = w.path[:len(w.path)-1]
}

// owned reports what a write changes of the fields that are in the configuration.
func (w *walk) owned(p *plan, live, updated any) {
	if isNone(live) || isNone(updated) {
		if isNone(live) != isNone(updated) && (touches(p.node, p.value, live) || touches(p.node, p.value, updated)) {
			w.report(p, live, updated)
		}
		return
	}
	switch p.node.shape {
	case record, mapping:
		_, ok := p.value.(map[string]any)
		oldObj, okLive := live.(map[string]any)
		newObj, okNew := updated.(map[string]any)
		if ok && okLive && okNew {
			for i := range p.below {
				below := &p.below[i]
				w.step(below, field(oldObj, below.step.Name), field(newObj, below.step.Name))
			}
			return
		}
	case keyed:
		if areLists(p.value, live, updated) {
			oldItems, newItems := newItems(live, p.node.keys), newItems(updated, p.node.keys)
			for i := range p.below {
				below := &p.below[i]
				w.step(below, oldItems.find(below.step.Item, below.earlier), newItems.find(below.step.Item, below.earlier))
			}
			return
		}
	case members:
		if areLists(p.value, live, updated) {
			oldMembers, newMembers := newMembership(live), newMembership(updated)
			for i := range p.below {
				w.step(&p.below[i], oldMembers.find(p.below[i].value), newMembers.find(p.below[i].value))
			}
			return
		}
	}
	if !equal(live, updated) {
		w.report(p, live, updated)
	}
}

func areLists(values ...any) bool {
	for _, v := range values {
		if _, ok := v.([]any); !ok {
			return false
		}
	}
	return true
}

// touches says whether a value has anything that the configuration owns. An empty
// map or merged list owns nothing, an empty object of named fields its presence.
func touches(n *node, applied, value any) bool {
	if isNone(applied) || isNone(value) {
		return false
	}
	switch n.shape {
	case record, mapping:
		config, ok := applied.(map[string]any)
		object, okValue := value.(map[string]any)
		if ok && okValue {
			if len(config) == 0 {
				return n.shape == record
			}
			for name, v := range config {
				if touches(n.child(name), v, field(object, name)) {
					return true
				}
			}
			return false
		}
	case keyed:
		if _, ok := applied.([]any); ok {
			there, found := newItems(value, n.keys), false
			newItems(applied, n.keys).each(func(item map[string]any, earlier int) {
				found = found || !isNone(there.find(item, earlier))
			})
			return found
		}
	case members:
		if list, ok := applied.([]any); ok {
			there := newMembership(value)
			for _, member := range list {
				if !isNone(there.find(member)) {
					return true
				}
			}
			return false
		}
	}
	return true
}

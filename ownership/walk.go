package ownership

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/value"
)

// walk visits the fields of a last-applied configuration and compares their values in
// the object before and after a write.
type walk struct {
	path  []value.Step
	found func(Finding)
}

// triple is the values of one field in the configuration and in both objects.
type triple struct{ applied, live, updated any }

// plan is a configuration prepared for walk: the values with their nodes, sorted. It
// is made once and used for every write.
type plan struct {
	step  value.Step
	node  *node
	value any
	// earlier is the number of earlier items with the same keys.
	earlier int
	below   []plan
}

func newPlan(n *node, step value.Step, v any) plan {
	p := plan{step: step, node: n, value: v}
	switch n.shape {
	case record, mapping:
		object, _ := v.(map[string]any)
		for name, child := range object {
			if child != nil {
				p.below = append(p.below, newPlan(n.child(name), nameStep(name), child))
			}
		}
		slices.SortFunc(p.below, func(a, b plan) int { return strings.Compare(a.step.Name, b.step.Name) })
	case keyed:
		newItems(v, n.keys).each(func(item map[string]any, earlier int) {
			below := newPlan(n.elem, itemStep(n.keys, item), item)
			below.earlier = earlier
			p.below = append(p.below, below)
		})
	case set:
		list, _ := v.([]any)
		for _, member := range list {
			if member != nil {
				p.below = append(p.below, plan{step: memberStep(member), node: &node{}, value: member})
			}
		}
	}
	return p
}

func (w *walk) report(p *plan, live, updated any) {
	w.found(Finding{Path: newPath(w.path), Live: live, New: updated, Applied: p.value})
}

func (w *walk) step(p *plan, live, updated any) {
	w.path = append(w.path, p.step)
	w.owned(p, live, updated)
	w.path = w.path[:len(w.path)-1]
}

// owned reports the fields in the configuration that a write changes.
func (w *walk) owned(p *plan, live, updated any) {
	if isAbsent(live) || isAbsent(updated) {
		if isAbsent(live) != isAbsent(updated) && (touches(p.node, p.value, live) || touches(p.node, p.value, updated)) {
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
				item, _ := below.value.(map[string]any)
				w.step(below, oldItems.find(item, below.earlier), newItems.find(item, below.earlier))
			}
			return
		}
	case set:
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

// touches reports whether a value has a field that the configuration owns. An empty
// map or merged list in the configuration owns nothing. An empty object with named
// fields owns its own presence.
func touches(n *node, applied, v any) bool {
	if isAbsent(applied) || isAbsent(v) {
		return false
	}
	switch n.shape {
	case record, mapping:
		config, ok := applied.(map[string]any)
		object, okValue := v.(map[string]any)
		if ok && okValue {
			if len(config) == 0 {
				return n.shape == record
			}
			for name, child := range config {
				if touches(n.child(name), child, field(object, name)) {
					return true
				}
			}
			return false
		}
	case keyed:
		if _, ok := applied.([]any); ok {
			there, found := newItems(v, n.keys), false
			newItems(applied, n.keys).each(func(item map[string]any, earlier int) {
				found = found || !isAbsent(there.find(item, earlier))
			})
			return found
		}
	case set:
		if list, ok := applied.([]any); ok {
			there := newMembership(v)
			for _, member := range list {
				if !isAbsent(there.find(member)) {
					return true
				}
			}
			return false
		}
	}
	return true
}

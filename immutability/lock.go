package immutability

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// Lock is one place in an object that a policy protects, or a place below it where a rule
// given to [Declare] allows changes again. It refers to the object and is valid as long as the
// object does not change.
type Lock struct {
	Path *value.Path
	// Marker says what may not change. It is Free for a place that may change although an
	// immutable place is above it.
	Marker Marker
	// Absent means that the object has no value here, and that none may be set.
	Absent bool
	// SchemaPath is the node of the schema that has the marker, or the path of the rule given
	// to Declare.
	SchemaPath *value.Path
	// Exception is the name of the exception of the rule, empty if it has none.
	Exception string
	// Mark is the rule if it is a mark of its own, see Violation. Its condition may not hold for the object.
	Mark *Mark
}

// Locks returns the places of an object that the policy protects: the outermost ones, and
// the places below them with a rule of their own. They are ordered as the violations of Check.
// apiVersion and kind are left out. A nil policy has no locks.
func (p *Policy) Locks(obj map[string]any) []Lock {
	if p == nil {
		return nil
	}
	locks := p.locks(obj)
	for _, l := range p.layers {
		locks = append(locks, l.locks(obj)...)
	}
	return locks
}

// locks is Locks without the layers.
func (p *Policy) locks(obj map[string]any) []Lock {
	c := lockCollector{walker: walker{policy: p}}
	c.object(p.root, obj)
	return c.locks
}

// lockCollector is one run of Locks. It takes its path from the walker.
type lockCollector struct {
	walker
	locks []Lock
}

// visit adds the locks at and below n. present says whether the object has the value.
func (c *lockCollector) visit(n *node, v any, present bool) {
	if n == nil || !n.checked && !n.hasOwnRule && !n.hasRulesBelow {
		return
	}
	// A marker that only forbids removing has nothing to protect where there is nothing.
	if n.marker != Free && (present || n.marker.has(NoSet|NoAddItem)) || n.hasOwnRule && n.marker == Free && present {
		lock := Lock{Path: c.path(), Marker: n.marker, Absent: !present, SchemaPath: n.declared, Mark: c.policy.mark}
		if n.exception != nil {
			lock.Exception = n.exception.Name
		}
		c.locks = append(c.locks, lock)
	}
	if n.marker.has(NoModify) && !n.hasRulesBelow {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(n, v)
	case []any:
		c.items(n, v)
	}
	if !present && n.marker == Free && c.policy.isLoose() {
		// Absent and empty are one value here, so that rules apply inside of it.
		c.object(n, nil)
	}
}

// object visits the properties of an object, and the values of its other keys.
func (c *lockCollector) object(n *node, obj map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(n.props)) {
		if n.isRoot && isReserved(name) {
			continue
		}
		v, present := obj[name]
		c.push(name)
		c.visit(n.props[name], v, present && v != nil)
		c.pop()
	}
	if len(n.patterns) == 0 && n.rest == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if n.isRoot && isReserved(key) {
			continue
		}
		matches := n.matching(key)
		if _, isProperty := n.props[key]; !isProperty && len(matches) == 0 {
			matches = []*node{n.rest}
		}
		c.push(key)
		for _, match := range matches {
			c.visit(match, obj[key], true)
		}
		c.pop()
	}
}

// items visits the items of a list. The items of a set have no locks of their own.
func (c *lockCollector) items(n *node, list []any) {
	if n.list == setList {
		return
	}
	for i, item := range list {
		if n.list == mapList {
			c.pushItem(n.keys, list, i)
		} else {
			c.pushIndex(i)
		}
		c.visit(n.item(i), item, true)
		c.pop()
	}
}

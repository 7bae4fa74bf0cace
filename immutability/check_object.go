package immutability

import (
	"cmp"
	"slices"
)

// object checks an object. The node of a property checks the property. For other
// keys, the nodes of their values check a key that is in both objects, and the marker
// of n checks a key that is in only one of them.
func (w *walker) object(n *node, oldMap, newMap map[string]any) {
	for _, p := range n.walk {
		w.push(p.name)
		w.check(p.node, lookup(oldMap, p.name), lookup(newMap, p.name))
		w.pop()
	}
	if n.marker == Free && !n.hasCheckedValues() {
		return
	}
	order := keyOrder{from: len(w.found)}
	for key, oldValue := range oldMap {
		newValue, stays := newMap[key]
		switch {
		case n.isRoot && isReserved(key):
			continue
		case stays:
			w.values(n, key, oldValue, newValue)
		case n.marker.has(NoRemoveItem):
			w.push(key)
			w.report(n, Removed, oldValue, nil)
			w.pop()
		}
		order.note(key, len(w.found))
	}
	if n.marker.has(NoAddItem) {
		for key, newValue := range newMap {
			if _, known := oldMap[key]; known {
				continue
			}
			w.push(key)
			w.report(n, Added, nil, newValue)
			w.pop()
			order.note(key, len(w.found))
		}
	}
	order.restore(w.found)
}

// hasCheckedValues reports whether the values of a map have rules.
func (n *node) hasCheckedValues() bool {
	if n.rest != nil && n.rest.checked {
		return true
	}
	return slices.ContainsFunc(n.patterns, func(p pattern) bool { return p.node != nil && p.node.checked })
}

// values checks the value of one key of a map by every node that applies to it.
func (w *walker) values(n *node, key string, oldValue, newValue any) {
	w.push(key)
	defer w.pop()
	if len(n.patterns) == 0 {
		if _, isProperty := n.props[key]; !isProperty {
			w.check(n.rest, oldValue, newValue)
		}
		return
	}
	matches := n.matching(key)
	from := len(w.found)
	for _, match := range matches {
		w.check(match, oldValue, newValue)
	}
	if len(matches) > 1 {
		w.found = append(w.found[:from], distinct(w.found[from:])...)
	}
	if _, isProperty := n.props[key]; !isProperty && len(matches) == 0 {
		w.check(n.rest, oldValue, newValue)
	}
}

// distinct removes violations that two patterns both found, in place.
func distinct(found []Violation) []Violation {
	type change struct {
		path string
		op   Operation
	}
	if len(found) < 2 {
		return found
	}
	seen := make(map[change]bool, len(found))
	return slices.DeleteFunc(found, func(v Violation) bool {
		c := change{v.Path.String(), v.Operation}
		known := seen[c]
		seen[c] = true
		return known
	})
}

// isReserved reports whether key is a field that every Kubernetes object has.
// Patterns at the root do not apply to it.
func isReserved(key string) bool {
	return key == "apiVersion" || key == "kind" || key == "metadata"
}

// keyOrder sorts the violations of a map by key. The keys are visited unsorted,
// because sorting all of them would slow down updates without violations.
type keyOrder struct {
	from int
	runs []run
}

type run struct {
	key      string
	from, to int
}

// note records that the new violations, up to the index to, belong to key.
func (o *keyOrder) note(key string, to int) {
	start := o.from
	if len(o.runs) > 0 {
		start = o.runs[len(o.runs)-1].to
	}
	if to > start {
		o.runs = append(o.runs, run{key, start, to})
	}
}

// restore sorts the violations.
func (o *keyOrder) restore(found []Violation) {
	if len(o.runs) < 2 {
		return
	}
	unsorted := slices.Clone(found[o.from:])
	slices.SortStableFunc(o.runs, func(a, b run) int { return cmp.Compare(a.key, b.key) })
	at := o.from
	for _, r := range o.runs {
		at += copy(found[at:], unsorted[r.from-o.from:r.to-o.from])
	}
}

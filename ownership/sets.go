package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/value"
)

// setWalk visits the fields of a managed-fields entry and compares their values in the
// object before and after a write.
type setWalk struct {
	mode  value.Mode
	path  []value.Step
	found func(Finding)
}

// root walks the judged fields of an object.
func (s *setWalk) root(n *node, set *fieldpath.Set, live, updated map[string]any) {
	for element := range elements(set) {
		name := element.FieldName
		if name == nil || *name == "status" || *name == "apiVersion" || *name == "kind" {
			continue
		}
		oldValue, newValue := live, updated
		if *name == "metadata" {
			oldValue, newValue = judgedPart(live), judgedPart(updated)
		}
		s.step(nameStep(*name), n.child(*name), below(set, element), pair{field(oldValue, *name), field(newValue, *name)})
	}
}

// pair is the values of one field in both objects.
type pair struct{ live, updated any }

func (s *setWalk) step(step value.Step, n *node, set *fieldpath.Set, p pair) {
	s.path = append(s.path, step)
	s.follow(n, set, p)
	s.path = s.path[:len(s.path)-1]
}

// follow reports the changed fields of a set. The nil set is a leaf. A field that the
// schema now takes as one value is a leaf too: it may have had fields of its own when
// the set was written.
func (s *setWalk) follow(n *node, set *fieldpath.Set, p pair) {
	noLive, noUpdated := s.mode.IsAbsent(p.live), s.mode.IsAbsent(p.updated)
	if noLive || noUpdated {
		if noLive != noUpdated && s.ownsPresence(n, set, p) {
			s.report(p)
		}
		return
	}
	if set == nil || n == nil || n.shape == atomic {
		if isGranular(n, p.live) && isGranular(n, p.updated) {
			// A leaf for an object or list with fields means that only its presence is
			// owned.
			return
		}
		if !s.mode.Equal(p.live, p.updated) {
			s.report(p)
		}
		return
	}
	for element := range elements(set) {
		s.element(n, element, below(set, element), p)
	}
}

// ownsPresence reports whether a field of the set comes or goes with a value that one
// of the objects does not have.
func (s *setWalk) ownsPresence(n *node, set *fieldpath.Set, p pair) bool {
	isLeaf := set == nil && (isGranular(n, p.live) || isGranular(n, p.updated))
	if isLeaf && s.mode.IsAbsent(p.live) {
		// The applied configuration has null here. Server-side apply removes an empty value,
		// and keeps any other.
		return isEmpty(p.updated)
	}
	if isLeaf || isEmpty(p.live) && isObject(p.live) && n != nil && n.presence {
		// The server stores nothing of the value but that it is there.
		return n.presence && s.mode.IsAbsent(p.updated)
	}
	return hasOwned(n, set, p.live) || hasOwned(n, set, p.updated)
}

// hasOwned reports whether a value has a field of a set. The nil set is a leaf.
func hasOwned(n *node, set *fieldpath.Set, v any) bool {
	if isAbsent(v) {
		return false
	}
	if set == nil {
		return true
	}
	for element := range elements(set) {
		if hasOwned(n.at(element), below(set, element), elementOf(n, element, v)) {
			return true
		}
	}
	return false
}

// at returns the node that an element names, nil if the view has none.
func (n *node) at(element fieldpath.PathElement) *node {
	switch {
	case n == nil:
		return nil
	case element.FieldName != nil:
		return n.child(*element.FieldName)
	}
	return n.elem
}

// elementOf returns the value that an element names inside of another value, which is at n. If
// a list has several items with the same keys, server-side apply takes them as one value: then
// it returns the list of them.
func elementOf(n *node, element fieldpath.PathElement, v any) any {
	switch {
	case element.FieldName != nil:
		object, _ := v.(map[string]any)
		return field(object, *element.FieldName)
	case element.Key != nil:
		k, item := keyOf(n, element)
		return newItems(v, k).all(item)
	case element.Value != nil:
		return newMembership(v).all((*element.Value).Unstructured())
	}
	return value.Absent{}
}

// keyOf returns the keys of an item of a list at n, and an item with only the keys.
func keyOf(n *node, element fieldpath.PathElement) (k keys, item map[string]any) {
	item = make(map[string]any, len(*element.Key))
	for _, f := range *element.Key {
		k.names = append(k.names, f.Name)
		k.defaults = append(k.defaults, n.keyDefault(f.Name))
		item[f.Name] = f.Value.Unstructured()
	}
	return k, item
}

func (s *setWalk) element(n *node, element fieldpath.PathElement, set *fieldpath.Set, p pair) {
	switch {
	case element.FieldName != nil:
		name := *element.FieldName
		if isObject(p.live) && isObject(p.updated) {
			s.step(nameStep(name), n.child(name), set, p.at(n, element))
		}
	case element.Key != nil:
		elem, at := n.elem, p.at(n, element)
		switch {
		case isList(at.live) || isList(at.updated):
			// Server-side apply replaces items with the same keys as a whole.
			elem, set = &node{}, nil
		case elem == nil:
			elem = newUntyped()
		}
		s.step(itemStep(keyOf(n, element)), elem, set, at)
	case element.Value != nil:
		s.step(memberStep((*element.Value).Unstructured()), &node{}, nil, p.at(n, element))
	}
}

// at returns the values that an element names inside of both values, which are at n.
func (p pair) at(n *node, element fieldpath.PathElement) pair {
	return pair{elementOf(n, element, p.live), elementOf(n, element, p.updated)}
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

func (s *setWalk) report(p pair) {
	s.found(Finding{Path: newPath(s.path), Live: p.live, New: p.updated, Applied: value.Absent{}})
}

// elements yields the elements on the first level of a set, each once. They are
// collected first, because the iterators of the library cannot be stopped.
func elements(set *fieldpath.Set) func(yield func(fieldpath.PathElement) bool) {
	all := make([]fieldpath.PathElement, 0, set.Members.Size())
	set.Children.Iterate(func(element fieldpath.PathElement) { all = append(all, element) })
	set.Members.Iterate(func(element fieldpath.PathElement) {
		if _, ok := set.Children.Get(element); !ok {
			all = append(all, element)
		}
	})
	return slices.Values(all)
}

// below returns the set below an element, nil for a leaf.
func below(set *fieldpath.Set, element fieldpath.PathElement) *fieldpath.Set {
	child, ok := set.Children.Get(element)
	if !ok || child.Empty() {
		return nil
	}
	return child
}

// isGranular reports whether the parts of a value are fields of their own.
func isGranular(n *node, v any) bool {
	switch v.(type) {
	case map[string]any:
		return n != nil && (n.shape == record || n.shape == mapping)
	case []any:
		return n != nil && (n.shape == keyed || n.shape == set)
	}
	return false
}

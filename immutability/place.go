package immutability

import "slices"

// place is one path of an object, with the nodes that several policies have there.
type place struct {
	nodes []*node
	// isCovered means that a marker above protects everything at the path.
	isCovered bool
	// keys are the fields that identify the item at the path.
	keys []string
}

// at returns the place of a key of an object.
func (p place) at(key string) place {
	out := place{isCovered: p.isCovered}
	for _, n := range p.nodes {
		found, isProperty := n.props[key]
		matches := n.matching(key)
		out.add(found)
		for _, match := range matches {
			out.add(match)
		}
		if !isProperty && len(matches) == 0 {
			out.add(n.rest)
		}
	}
	return out
}

// item returns the place of an item of a list.
func (p place) item(index int) place {
	out := place{isCovered: p.isCovered}
	for _, n := range p.nodes {
		// The items of a marked set are its keys.
		out.isCovered = out.isCovered || n.list == setList && n.marker != Free
		out.keys = append(out.keys, n.keys...)
		out.add(n.item(index))
	}
	return out
}

func (p *place) add(n *node) {
	if n != nil {
		p.nodes = append(p.nodes, n)
		p.isCovered = p.isCovered || n.marker.has(NoModify)
	}
}

// isProtected reports whether a marker is at the place, above it or below it.
func (p place) isProtected() bool {
	return p.isCovered || slices.ContainsFunc(p.nodes, func(n *node) bool { return n.checked })
}

// hasFixedKeys reports whether a marker protects the keys of the object at the place.
func (p place) hasFixedKeys() bool {
	return slices.ContainsFunc(p.nodes, func(n *node) bool { return n.isMap && n.marker != Free })
}

// object returns the difference of two objects at the place, nil for none.
func (p place) object(stored, shown map[string]any) *Unseen {
	var u Unseen
	allKeys := p.hasFixedKeys()
	for key, value := range stored {
		at := p.at(key)
		if !allKeys && !at.isProtected() && !slices.Contains(p.keys, key) {
			continue
		}
		visible, ok := shown[key]
		if !ok {
			put(&u.values, key, value)
		} else if below := at.value(value, visible); below != nil {
			put(&u.below, key, below)
		}
	}
	for key, value := range shown {
		if _, ok := stored[key]; !ok && (allKeys || p.at(key).isProtected()) {
			put(&u.defaults, key, value)
		}
	}
	if u.values == nil && u.defaults == nil && u.below == nil {
		return nil
	}
	return &u
}

// value returns the difference of two values at the place, nil for none.
func (p place) value(stored, shown any) *Unseen {
	if !p.isProtected() {
		return nil
	}
	switch stored := stored.(type) {
	case map[string]any:
		if shown, ok := shown.(map[string]any); ok {
			return p.object(stored, shown)
		}
	case []any:
		if shown, ok := shown.([]any); ok && len(shown) == len(stored) {
			return p.list(stored, shown)
		}
	}
	return nil
}

// list returns the difference of two lists at the place, nil for none.
func (p place) list(stored, shown []any) *Unseen {
	items := unseenItems{shown: shown, below: make([]*Unseen, len(stored))}
	for _, n := range p.nodes {
		if n.list == mapList {
			items.keys = n.keys
			break
		}
	}
	found := false
	for i := range stored {
		below := p.item(i).value(stored[i], shown[i])
		if below == nil {
			continue
		}
		items.below[i], found = below, true
		// If the version does not show the keys, they do not identify its items.
		if slices.ContainsFunc(items.keys, func(key string) bool { _, unseen := below.values[key]; return unseen }) {
			items.keys = nil
		}
	}
	if !found {
		return nil
	}
	return &Unseen{items: &items}
}

func put[V any](to *map[string]V, key string, value V) {
	if *to == nil {
		*to = map[string]V{}
	}
	(*to)[key] = value
}

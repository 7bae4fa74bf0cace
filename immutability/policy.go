package immutability

import (
	"regexp"

	"holdfast.dev/holdfast/value"
)

// Policy is the table of markers of one schema or declaration. Nil is the
// policy that allows everything. A Policy never changes and is safe for
// concurrent use.
type Policy struct {
	root *node
	// comparison compares the values of the objects.
	comparison value.Comparison
}

// node is what a policy knows of one node of the schema: its rule, and the shape
// that equality below an immutable node needs. A nil node knows nothing: below
// an immutable node values there are compared strictly, elsewhere not at all.
type node struct {
	marker    Marker
	declared  *value.Path
	exception *Exception
	canonical func(any) any

	// owns means that the node has a rule of its own, which replaces the rule
	// of an immutable node around it. Only declarations nest rules so.
	owns bool
	// live means that there is a rule at the node or below, so that the check
	// has to come here.
	live bool
	// carved means that a node below owns a rule.
	carved bool
	// isPlain means that values here are compared as they are, with everything
	// in them.
	isPlain bool

	isMap    bool // the keys are data, not properties
	isRoot   bool
	props    map[string]*node
	walk     []property // the live ones of props, by name
	patterns []pattern
	rest     *node // values of additionalProperties

	list      listKind
	keys      []string
	items     *node
	tuple     []*node
	moreItems *node // beyond tuple

	// all is set on a node that stands for several schemas which hold for one
	// value: it says what they agree on.
	all []*node
}

type property struct {
	name string
	node *node
}

type pattern struct {
	expression *regexp.Regexp
	node       *node
}

type listKind uint8

const (
	atomicList listKind = iota
	mapList
	setList
)

// child is what the policy knows of the value at key, as far as equality is
// concerned. A key may be a property and match several patterns; then all of
// them hold.
func (n *node) child(key string) *node {
	if n == nil {
		return nil
	}
	if n.all != nil {
		return joined(n.all, func(part *node) *node { return part.child(key) })
	}
	found, isProperty := n.props[key]
	if len(n.patterns) == 0 {
		if isProperty {
			return found
		}
		return n.rest
	}
	matches := n.matching(key)
	if isProperty {
		matches = append(matches, found)
	}
	switch len(matches) {
	case 0:
		return n.rest
	case 1:
		return matches[0]
	}
	return joined(matches, func(part *node) *node { return part })
}

// matching are the nodes of the patterns that key matches.
func (n *node) matching(key string) []*node {
	var found []*node
	for _, p := range n.patterns {
		if p.expression.MatchString(key) {
			found = append(found, p.node)
		}
	}
	return found
}

// joined is what all the parts agree on: where one knows nothing, nothing.
func joined(parts []*node, of func(*node) *node) *node {
	join := &node{all: make([]*node, 0, len(parts))}
	for _, part := range parts {
		n := of(part)
		if n == nil {
			return nil
		}
		join.all = append(join.all, n)
	}
	return join
}

// item is what the policy knows of the item at index.
func (n *node) item(index int) *node {
	switch {
	case n == nil:
		return nil
	case n.all != nil:
		return joined(n.all, func(part *node) *node { return part.item(index) })
	case index < len(n.tuple):
		return n.tuple[index]
	case len(n.tuple) > 0:
		return n.moreItems
	}
	return n.items
}

// listType is how the items of a list at n are matched.
func (n *node) listType() (listKind, []string) {
	if n == nil {
		return atomicList, nil
	}
	if n.all == nil {
		return n.list, n.keys
	}
	kind, keys := n.all[0].listType()
	for _, part := range n.all[1:] {
		if other, _ := part.listType(); other != kind {
			return atomicList, nil
		}
	}
	return kind, keys
}

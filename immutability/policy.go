package immutability

import (
	"regexp"

	"holdfast.dev/holdfast/value"
)

// Policy is the compiled markers of one schema, or the rules given to Declare.
// The nil Policy allows every change. A Policy never changes and is safe for
// concurrent use.
type Policy struct {
	root *node
	// comparison compares the values of the objects.
	comparison value.Comparison
	// layers are the marks that are judged by themselves, each a policy with this one rule.
	layers []layer
	// mark is the rule of a layer.
	mark *Mark
}

// node is one node of the schema in a policy. It has the marker, and the list types
// and canonical forms for comparing values below an immutable node. Some values have
// no node, only nil. Check compares them as they are if they are below an immutable
// node, and otherwise ignores them.
type node struct {
	marker    Marker
	declared  *value.Path
	exception *Exception
	canonical func(any) any
	// zero is the value that a built-in kind does not tell apart from an absent one, nil if there is none.
	zero any

	// hasOwnRule means that a rule given to Declare is for exactly this node. It
	// replaces the rule of an immutable node above it.
	hasOwnRule bool
	// checked means that this node or one below it has a rule, so Check visits it.
	checked bool
	// hasRulesBelow means that hasOwnRule is set on a node below.
	hasRulesBelow bool
	// isPlain means that values here are compared as they are, with everything
	// in them.
	isPlain bool

	isMap    bool // the keys are not named in the schema
	isRoot   bool
	props    map[string]*node
	walk     []property // the properties in props that are checked, sorted by name
	patterns []pattern
	rest     *node // values of additionalProperties

	list      listKind
	keys      []string
	items     *node
	tuple     []*node
	moreItems *node // the items after those of tuple

	// all is set on a node that combines several nodes for one value. It is used
	// only for comparing values. Its list type is that of the nodes if they agree,
	// and atomic otherwise.
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

// child returns the node for comparing the value at key. If key is a property and
// matches patterns, or matches several patterns, the node combines them.
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

// matching returns the nodes of the patterns that key matches.
func (n *node) matching(key string) []*node {
	var found []*node
	for _, p := range n.patterns {
		if p.expression.MatchString(key) {
			found = append(found, p.node)
		}
	}
	return found
}

// joined calls the function of for each part and returns a node that combines the
// results. It returns nil if one of the results is nil.
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

// item returns the node for comparing the item at index.
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

// listType returns how the items of a list at n are matched, and by which keys.
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

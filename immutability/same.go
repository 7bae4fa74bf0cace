package immutability

import (
	"maps"
	"slices"
)

// Equal reports whether two compiled policies have the same markers on the same
// nodes and match lists in the same way, so that one check is enough for both. It
// is meant for the versions of one definition. A policy made by Declare is equal
// only to itself, because functions cannot be compared.
func (p *Policy) Equal(other *Policy) bool {
	if p == nil || other == nil || p.isLoose() || other.isLoose() {
		return p == other
	}
	return sameNode(p.root, other.root) && slices.EqualFunc(p.layers, other.layers, func(a, b layer) bool {
		return a.mark.String() == b.mark.String() && sameNode(a.root, b.root)
	})
}

func sameNode(a, b *node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.marker == b.marker && a.isMap == b.isMap &&
		a.list == b.list && slices.Equal(a.keys, b.keys) &&
		maps.EqualFunc(a.props, b.props, sameNode) &&
		slices.EqualFunc(a.patterns, b.patterns, samePattern) &&
		sameNode(a.rest, b.rest) && sameNode(a.items, b.items) &&
		slices.EqualFunc(a.tuple, b.tuple, sameNode) && sameNode(a.moreItems, b.moreItems)
}

func samePattern(a, b pattern) bool {
	return a.expression.String() == b.expression.String() && sameNode(a.node, b.node)
}

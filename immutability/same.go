package immutability

import (
	"maps"
	"slices"
)

// Equal says whether two policies compiled from schemas hold the same markers at
// the same places and match lists alike, so that one check serves for both. It
// is meant for the versions of one definition. Policies that were declared are
// equal only to themselves, because functions cannot be compared.
func (p *Policy) Equal(other *Policy) bool {
	if p == nil || other == nil || p.isLoose() || other.isLoose() {
		return p == other
	}
	return sameNode(p.root, other.root)
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

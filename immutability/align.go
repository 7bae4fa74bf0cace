package immutability

import (
	"cmp"
	"slices"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// alignment is one path in several schemas. nodes[i] is the node of the i-th
// schema there, nil if it has none. covered[i] says whether a node above it in
// the i-th schema is immutable.
type alignment struct {
	path    *value.Path
	nodes   []*schema.Schema
	covered []bool
}

// marker returns the marker that applies at the path in the i-th schema.
func (a alignment) marker(i int) Marker {
	if a.covered[i] {
		return Immutable
	}
	return MarkerOf(a.nodes[i])
}

// align visits every path of the schemas, even if only one of them has it. It leaves
// out paths inside of allOf, anyOf, oneOf and not. Parents come first, children in
// the order of schema.Children.
func align(nodes []*schema.Schema, visit func(alignment)) {
	alignment{nodes: nodes, covered: make([]bool, len(nodes))}.walk(visit)
}

func (a alignment) walk(visit func(alignment)) {
	visit(a)
	covered := make([]bool, len(a.nodes))
	for i := range a.nodes {
		covered[i] = a.path != nil && a.marker(i) == Immutable
	}
	below := map[schema.Child][]*schema.Schema{}
	var order []schema.Child
	for i, s := range a.nodes {
		if s == nil {
			continue
		}
		for child := range s.Children() {
			if child.Edge > schema.AdditionalItem {
				break
			}
			node := child.Schema
			child.Schema = nil
			if below[child] == nil {
				below[child] = make([]*schema.Schema, len(a.nodes))
				order = append(order, child)
			}
			below[child][i] = node
		}
	}
	slices.SortFunc(order, func(x, y schema.Child) int {
		return cmp.Or(cmp.Compare(x.Edge, y.Edge), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Index, y.Index))
	})
	for _, child := range order {
		alignment{child.Path(a.path), below[child], covered}.walk(visit)
	}
}

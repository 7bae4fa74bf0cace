package skeleton

// leaf is what a node without children, default and topology consists of. Most fields of a schema are such nodes, and they differ in little
// more than their type.
type leaf struct {
	verbatim, preserve, nullable, keepNull, nullFits bool
	normalized, asTrue, embedded, intOrString        bool

	binding kind
	within  effect
	typ     string
}

// shared returns the node of the skeleton that is equal to a leaf, or the node itself if there is none so far, or if it is no leaf. No node
// changes after it was built, so that many fields can have the same.
func (b *builder) shared(n *node) *node {
	if n.properties != nil || n.patterns != nil || n.additional != nil || n.positions != nil || n.rest != nil || n.defaulted != nil ||
		n.fallback != nil || n.declared != nil || n.items != nil || n.tuple != nil || n.beyond != nil || n.topology != nil {
		return n
	}
	key := leaf{
		n.verbatim, n.preserve, n.nullable, n.keepNull, n.nullFits, n.normalized, n.asTrue, n.embedded, n.intOrString, n.binding, n.within, n.typ,
	}
	if known := b.leaves[key]; known != nil {
		return known
	}
	b.leaves[key] = n
	return n
}

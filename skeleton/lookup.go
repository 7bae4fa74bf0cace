package skeleton

import "iter"

// item returns the node of the item at an index.
func (n *node) item(i int) *node {
	switch {
	case i < len(n.positions):
		return n.positions[i]
	case n.rest == nil:
		return nothing
	}
	return n.rest
}

// undeclared returns the node of a key that is no property, nil if it is not
// specified. If the key matches several patterns, several is true and the node is the
// first of those that gather returns.
func (n *node) undeclared(key string) (c *node, several bool) {
	for _, p := range n.patterns {
		if !p.covers(key) {
			continue
		}
		if c != nil {
			return c, true
		}
		c = p.value
	}
	if c == nil {
		c = n.additional
	}
	return c, false
}

func (p pattern) covers(key string) bool { return p.matches == nil || p.matches.MatchString(key) }

// undeclaredNodes yields every node of a key that is no property.
func (n *node) undeclaredNodes(key string) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		c, several := n.undeclared(key)
		if !several {
			if c != nil {
				yield(c)
			}
			return
		}
		for _, p := range n.patterns {
			if p.covers(key) && !yield(p.value) {
				return
			}
		}
	}
}

package skeleton

import "iter"

// item is the node of the item at a position.
func (n *node) item(i int) *node {
	switch {
	case i < len(n.positions):
		return n.positions[i]
	case n.rest == nil:
		return nothing
	}
	return n.rest
}

// undeclared is the node of a key that is none of the properties, nil where it
// is not specified. For a key that matches several patterns it is the first of
// several, which gather gives.
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

// undeclaredNodes yields every node of a key that is none of the properties.
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

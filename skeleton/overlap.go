package skeleton

// A key that matches several patterns is specified by all of them, and so is
// what lies below: a key stays when any of the nodes has a place for it. This
// is the same walk as pruneValue with a handful of nodes in place of one. They
// are gathered on the stack, so that here too a clean object costs no memory.

// handful is how many nodes are gathered without allocating.
const handful = 8

func pruneOverlap(n *node, key string, x map[string]any, t *trail) {
	var buf [handful]*node
	pruneKey(n.gather(buf[:0], key), key, x, t)
}

// gather appends every node that n has for a key.
func (n *node) gather(nodes []*node, key string) []*node {
	if c, ok := n.properties[key]; ok {
		return append(nodes, c)
	}
	matched := false
	for _, p := range n.patterns {
		if p.covers(key) {
			nodes, matched = append(nodes, p.value), true
		}
	}
	if !matched && n.additional != nil {
		nodes = append(nodes, n.additional)
	}
	return nodes
}

// pruneKey prunes the value of a key by the nodes that specify it.
func pruneKey(nodes []*node, key string, x map[string]any, t *trail) {
	value := x[key]
	switch {
	case len(nodes) == 0:
		t.drop(key)
		delete(x, key)
	case value != nil:
		t.enter(key)
		pruneBy(nodes, value, t)
		t.leave()
	case !anyKeepsNull(nodes):
		delete(x, key)
	}
}

func pruneBy(nodes []*node, x any, t *trail) {
	if len(nodes) == 1 {
		pruneValue(nodes[0], x, t)
		return
	}
	for _, n := range nodes {
		if n.verbatim {
			return
		}
	}
	var buf [handful]*node
	switch x := x.(type) {
	case map[string]any:
		for key := range x {
			if next, known := gatherAll(buf[:0], nodes, key); known {
				pruneKey(next, key, x, t)
			}
		}
	case []any:
		for i, item := range x {
			next := buf[:0]
			for _, n := range nodes {
				next = append(next, n.item(i))
			}
			t.enterIndex(i)
			pruneBy(next, item, t)
			t.leave()
		}
	}
}

// gatherAll appends every node for a key; known is false where one of the nodes
// keeps the key as it is because it does not know it.
func gatherAll(next, nodes []*node, key string) (all []*node, known bool) {
	for _, n := range nodes {
		before := len(next)
		next = n.gather(next, key)
		if len(next) == before && n.preserve {
			return nil, false
		}
	}
	return next, true
}

func anyKeepsNull(nodes []*node) bool {
	for _, n := range nodes {
		if n.keepNull {
			return true
		}
	}
	return false
}

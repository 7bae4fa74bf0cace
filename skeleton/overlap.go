package skeleton

// A key that matches several patterns has several nodes, and so have the keys below it.
// Such a key stays if one of the nodes specifies it. This file does the same as
// pruneValue with several nodes in place of one. The nodes are collected on the stack,
// so that an object from which nothing is dropped costs no memory.

// smallCount is how many nodes are collected without allocating.
const smallCount = 8

func pruneOverlap(n *node, key string, x map[string]any, t *recorder) {
	var buf [smallCount]*node
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
func pruneKey(nodes []*node, key string, x map[string]any, t *recorder) {
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

func pruneBy(nodes []*node, x any, t *recorder) {
	if len(nodes) == 1 {
		pruneValue(nodes[0], x, t)
		return
	}
	for _, n := range nodes {
		if n.verbatim {
			return
		}
	}
	var buf [smallCount]*node
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

// gatherAll appends every node for a key. known is false if one of the nodes preserves
// unknown fields and does not specify the key: the key then stays as it is.
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

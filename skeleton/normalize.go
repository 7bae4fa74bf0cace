package skeleton

// Normalize takes away, in place and innermost first, each null, empty list and
// empty object under a property with x-kubernetes-normalize: undefined. It does
// nothing, and walks nowhere, below places without such properties.
func (sk *Skeleton) Normalize(obj map[string]any) {
	normalizeObject(sk.root, obj)
}

func normalizeObject(n *node, x map[string]any) {
	if n.within&hasTidy == 0 {
		return
	}
	for key, value := range x {
		c, declared := n.properties[key]
		if !declared {
			for c := range n.undeclaredNodes(key) {
				normalizeValue(c, value)
			}
			continue
		}
		normalizeValue(c, value)
		if c.tidy && isEmpty(value) {
			delete(x, key)
		}
	}
}

func normalizeValue(n *node, x any) {
	switch x := x.(type) {
	case map[string]any:
		normalizeObject(n, x)
	case []any:
		if n.within&hasTidy == 0 {
			return
		}
		for i, item := range x {
			normalizeValue(n.item(i), item)
		}
	}
}

func isEmpty(x any) bool {
	switch x := x.(type) {
	case nil:
		return true
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	}
	return false
}

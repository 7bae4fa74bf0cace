package skeleton

import "holdfast.dev/holdfast/value"

// Normalize removes, in place and innermost first, each null, empty list and empty
// object of a property with x-kubernetes-normalize: undefined. Parts of the object
// without such properties are not visited.
func (sk *Skeleton) Normalize(obj map[string]any) {
	normalizeObject(sk.root, obj)
}

// Normalizes reports whether the schema has properties that Normalize may remove.
func (sk *Skeleton) Normalizes() bool { return sk.root.within&hasNormalized != 0 }

func normalizeObject(n *node, x map[string]any) {
	if n.within&hasNormalized == 0 {
		return
	}
	for key, v := range x {
		c, declared := n.properties[key]
		if !declared {
			for c := range n.undeclaredNodes(key) {
				normalizeValue(c, v)
			}
			continue
		}
		normalizeValue(c, v)
		if c.normalized && isEmpty(v) {
			delete(x, key)
		}
	}
}

func normalizeValue(n *node, x any) {
	switch x := x.(type) {
	case map[string]any:
		normalizeObject(n, x)
	case []any:
		if n.within&hasNormalized == 0 {
			return
		}
		for i, item := range x {
			normalizeValue(n.item(i), item)
		}
	}
}

// isEmpty reports whether a value is null, an empty list or an empty object.
func isEmpty(v any) bool {
	_, absent := value.BuiltIn.Reduce(v).(value.Absent)
	return absent
}

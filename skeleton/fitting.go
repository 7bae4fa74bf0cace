package skeleton

// Fitting is a copy of obj without the values that do not have the basic type
// their place demands, for those who can work with nothing else. A list with
// such an item is left out as a whole. What is copied are maps and lists; obj
// stays as it is.
func (sk *Skeleton) Fitting(obj map[string]any) map[string]any {
	out, _ := fitting(sk.root, obj).(map[string]any)
	return out
}

// fitting is absent for a value that does not fit.
func fitting(n *node, x any) any {
	if !n.binding.accepts(x) {
		return absent
	}
	switch x := x.(type) {
	case map[string]any:
		return fittingObject(n, x)
	case []any:
		out := make([]any, len(x))
		for i, item := range x {
			if child := n.item(i); item != nil || !child.nullFits {
				item = fitting(child, item)
			}
			if item == absent {
				return absent
			}
			out[i] = item
		}
		return out
	}
	return x
}

func fittingObject(n *node, x map[string]any) map[string]any {
	out := make(map[string]any, len(x))
	for key, value := range x {
		if value != nil {
			if child, ok := n.properties[key]; ok {
				value = fitting(child, value)
			} else {
				for child := range n.undeclaredNodes(key) {
					if value != absent {
						value = fitting(child, value)
					}
				}
			}
		}
		if value != absent {
			out[key] = value
		}
	}
	return out
}

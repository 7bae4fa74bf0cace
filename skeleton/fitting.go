package skeleton

import "holdfast.dev/holdfast/value"

// Fitting returns a copy of obj without the values of the wrong type, for callers that
// need the right types. A list with such an item is left out as a whole. Maps and
// lists are copied; obj does not change.
func (sk *Skeleton) Fitting(obj map[string]any) map[string]any {
	out, _ := fitting(sk.root, obj).(map[string]any)
	return out
}

// fitting returns value.Absent for a value that does not fit.
func fitting(n *node, x any) any {
	if !n.binding.accepts(x) {
		return value.Absent{}
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
			if isAbsent(item) {
				return value.Absent{}
			}
			out[i] = item
		}
		return out
	}
	return x
}

func fittingObject(n *node, x map[string]any) map[string]any {
	out := make(map[string]any, len(x))
	for key, v := range x {
		if v != nil {
			if child, ok := n.properties[key]; ok {
				v = fitting(child, v)
			} else {
				for child := range n.undeclaredNodes(key) {
					if !isAbsent(v) {
						v = fitting(child, v)
					}
				}
			}
		}
		if !isAbsent(v) {
			out[key] = v
		}
	}
	return out
}

func isAbsent(v any) bool { return value.Strict.IsAbsent(v) }

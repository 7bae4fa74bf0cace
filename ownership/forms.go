package ownership

import "holdfast.dev/holdfast/value"

// forms merges the two forms of a configuration: as it was written, and canonical.
// The written form says which fields there are, the canonical form which values
// they have.
//
// Each form alone is wrong. The canonical form lacks zero values that Go types leave
// out, such as paused: false, and has fields that no client wrote, such as the
// targetPort: 0 of a Service port. The written form has fields under other names,
// such as stringData, or of another version.
type forms struct {
	// nulls keeps the nulls of the written form.
	nulls bool
}

// object merges two objects at n. A nil n is inside of a value that apply takes as
// one field.
func (f forms) object(n *node, written, canonical map[string]any) map[string]any {
	if len(written) == len(canonical) && n.isTexts(written) {
		return canonical
	}
	out := make(map[string]any, len(written))
	for name, w := range written {
		if w == nil {
			if f.nulls && n != nil && !isAllocated(inside(n, name)) {
				out[name] = nil
			}
			continue
		}
		if v := f.value(inside(n, name), w, field(canonical, name)); v != (value.Absent{}) {
			out[name] = v
		}
	}
	for name, c := range canonical {
		if _, ok := written[name]; ok {
			continue
		}
		if v := converted(n, name, c); v != (value.Absent{}) {
			out[name] = v
		}
	}
	return out
}

// value merges two values at n. It returns value.Absent for a value that only the
// written form has, unless it is a zero value: the kind does not have the field, or
// another canonical field replaces it.
func (f forms) value(n *node, written, canonical any) any {
	if isAbsent(canonical) {
		if isZero(written) && !isAllocated(n) {
			return written
		}
		return value.Absent{}
	}
	switch w := written.(type) {
	case map[string]any:
		if c, ok := canonical.(map[string]any); ok {
			return f.object(n, w, c)
		}
	case []any:
		if c, ok := canonical.([]any); ok && len(c) == len(w) {
			return f.list(n, w, c)
		}
	}
	return canonical
}

func (f forms) list(n *node, written, canonical []any) []any {
	var elem *node
	if n != nil && n.shape == keyed {
		elem = n.elem
	}
	out := make([]any, len(written))
	for i := range written {
		out[i] = canonical[i]
		if v := f.value(elem, written[i], canonical[i]); v != (value.Absent{}) {
			out[i] = v
		}
	}
	return out
}

// isAllocated reports whether the server allocates a value for the field of a node.
func isAllocated(n *node) bool { return n != nil && n.allocated }

// inside returns the node of a field, nil if n is one value.
func inside(n *node, name string) *node {
	if n == nil || n.shape != record && n.shape != mapping {
		return nil
	}
	return n.child(name)
}

// isZero reports whether a Go type may leave out a value: it is the zero of its type,
// or empty.
func isZero(v any) bool {
	switch v := v.(type) {
	case map[string]any, []any:
		return isEmpty(v)
	case string:
		return v == ""
	case bool:
		return !v
	}
	return equal(v, int64(0))
}

// isEmpty reports whether a value is an object or a list with nothing in it.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// converted returns the part of a canonical field of n that a conversion has added. The
// rest are zero values, which the Go type writes in any case. It returns value.Absent
// if nothing is left.
func converted(n *node, name string, v any) any {
	if n != nil && n.shape == mapping {
		// Types write no keys of maps, so that a conversion added the key.
		return v
	}
	object, ok := v.(map[string]any)
	if !ok {
		if v == nil || isZero(v) {
			return value.Absent{}
		}
		return v
	}
	n = inside(n, name)
	out := make(map[string]any, len(object))
	for name, child := range object {
		if child = converted(n, name, child); child != (value.Absent{}) {
			out[name] = child
		}
	}
	if len(out) == 0 {
		return value.Absent{}
	}
	return out
}

package verdict

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/schema"
)

// maxSteps bounds the work for one path. A key of a map may have a million dots.
const maxSteps = 1000

// known returns a path with the names that the schema has. Every other name is data of the object, as the indices of lists are, and
// becomes *. Kubernetes writes a key of a map as a.b, a[b] or a.b.c, so a key may end at each dot and bracket.
func known(root *schema.Schema, path string) string {
	w := walk{left: maxSteps}
	out, _ := w.path(root, path)
	return strings.TrimPrefix(out, ".")
}

// walk reads one path.
type walk struct{ left int }

// path returns the rest of a path below a node. ok is false if the node has no such field.
func (w *walk) path(node *schema.Schema, rest string) (_ string, ok bool) {
	if rest == "" {
		return "", true
	}
	if node == nil {
		return ".*", false
	}
	// The part of the path that the schema has, if it does not have all of it.
	part := ".*"
	for end := range ends(rest) {
		if w.left--; w.left < 0 {
			return part, false
		}
		child, step := (*schema.Schema)(nil), ""
		if isIndex(rest[:end]) {
			child, step = node.Items, "[*]"
		}
		if name := nameOf(rest[:end]); node.Properties[name] != nil || slices.Contains(node.Required, name) {
			child, step = node.Properties[name], "."+name
		}
		if step == "" {
			continue
		}
		below, ok := w.path(child, rest[end:])
		if ok {
			return step + below, true
		}
		if part == ".*" {
			part = step + below
		}
	}
	var values *schema.Schema
	if a := node.AdditionalProperties; a != nil {
		values = a.Schema
	}
	for end := range ends(rest) {
		if w.left--; w.left < 0 {
			break
		}
		if below, ok := w.path(values, rest[end:]); ok {
			if node.IsMap() || schema.IsTrue(node.PreserveUnknownFields) {
				return ".*" + below, true
			}
			break
		}
	}
	return part, false
}

// ends yields the places at which the first name of a path may end.
func ends(path string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := 1; i <= len(path); i++ {
			if (i == len(path) || path[i] == '.' || path[i] == '[') && !yield(i) {
				return
			}
		}
	}
}

// nameOf returns the name in the first part of a path: name, .name or [name].
func nameOf(part string) string {
	if strings.HasPrefix(part, "[") && strings.HasSuffix(part, "]") {
		return part[1 : len(part)-1]
	}
	return strings.TrimPrefix(part, ".")
}

// isIndex reports whether a part of a path is the index of a list.
func isIndex(part string) bool {
	return strings.HasPrefix(part, "[") && strings.HasSuffix(part, "]") && strings.Trim(part[1:len(part)-1], "0123456789") == ""
}

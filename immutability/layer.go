package immutability

import (
	"strings"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// layer is the policy of a mark that is judged by itself.
type layer struct {
	*Policy
	// metadata is the map of the object's metadata that the mark is about, labels or annotations. It is empty for a mark about
	// another field.
	metadata string
}

// check returns the violations of the mark.
func (l layer) check(oldObj, newObj map[string]any) []Violation {
	return l.Policy.check(l.view(oldObj), l.view(newObj))
}

// locks returns the locks of the mark.
func (l layer) locks(obj map[string]any) []Lock { return l.Policy.locks(l.view(obj)) }

// view returns the part of an object that the mark is about.
func (l layer) view(obj map[string]any) map[string]any {
	if l.metadata == "" {
		return obj
	}
	metadata, _ := obj["metadata"].(map[string]any)
	values, _ := metadata[l.metadata].(map[string]any)
	judged := make(map[string]any, len(values))
	for key, v := range values {
		if !isReservedKey(key) {
			judged[key] = v
		}
	}
	return map[string]any{"metadata": map[string]any{l.metadata: judged}}
}

// isReservedKey reports whether no rule is about a label or annotation: programs keep their own state there.
func isReservedKey(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	switch domain {
	case "holdfast.dev", "kubectl.kubernetes.io", "deployment.kubernetes.io":
		return true
	}
	return false
}

// layer compiles a mark for a schema. The result is false if the mark has no effect.
func (c *compiler) layer(s *schema.Schema, m Mark) (layer, bool) {
	mode := value.Strict
	if c.builtIn {
		mode = value.BuiltIn
	}
	l := layer{Policy: &Policy{mark: &m, comparison: value.NewComparison(mode)}}
	if l.metadata = m.metadata(); l.metadata != "" {
		l.root, l.comparison = &node{}, value.NewComparison(value.BuiltIn)
		if err := l.root.declare(Rule{Path: m.Path.String(), Marker: m.Marker}); err != nil {
			return l, false
		}
		l.root.derive()
		return l, true
	}
	target := m.node(s)
	if target == nil {
		return l, false
	}
	outer := c.marker
	c.marker = func(s *schema.Schema) Marker {
		if s == target {
			return effective(s, m.Marker)
		}
		return Free
	}
	l.root = c.node(schema.Child{Schema: s}, nil)
	c.marker = outer
	return l, l.root != nil && l.root.checked
}

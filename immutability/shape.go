package immutability

import "holdfast.dev/holdfast/value"

var _ value.Shape = (*node)(nil)

// shape returns what the comparison of values at n needs to know, nil for
// nothing.
func (n *node) shape() value.Shape {
	if n == nil || n.isPlain {
		return nil
	}
	return n
}

// Field implements value.Shape.
func (n *node) Field(name string) value.Shape { return n.child(name).shape() }

// Item implements value.Shape.
func (n *node) Item(index int) value.Shape { return n.item(index).shape() }

// Traits implements value.Shape. A value that is free is not compared.
func (n *node) Traits() value.Traits {
	kind, _ := n.listType()
	return value.Traits{Set: kind == setList, Ignored: n.hasOwnRule && !n.checked, Canonical: n.canonical}
}

// equal reports whether two values are equal where n is what the policy knows of
// them. It may report false for values that only differ where a node below has a
// rule of its own; the walk that follows then finds no violation.
func (p *Policy) equal(n *node, a, b any) bool { return p.comparison.Equal(n.shape(), a, b) }

// isLoose reports whether absent, null and empty are one value.
func (p *Policy) isLoose() bool { return p.comparison.Mode() == value.BuiltIn }

// lookup returns the value of a key, or value.Absent.
func lookup(object map[string]any, key string) any { return value.Strict.Field(object, key) }

// brief returns the short form of a value for a message.
func brief(v any) string { return value.Printer{}.Print(v) }

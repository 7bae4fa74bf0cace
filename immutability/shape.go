package immutability

import "holdfast.dev/holdfast/value"

var _ value.Shape = (*node)(nil)

// shape returns n as the shape of the values at n, or nil if they are compared as
// they are.
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

// Traits implements value.Shape. A value with a rule that is Free is not compared.
func (n *node) Traits() value.Traits {
	kind, _ := n.listType()
	return value.Traits{Set: kind == setList, Ignored: n.hasOwnRule && !n.checked, Canonical: n.canonical}
}

// equal reports whether two values at the node n are equal. It may also return false
// if they differ only where a node below has its own rule. The walk that follows then
// finds no violation, unless that rule forbids the change.
func (p *Policy) equal(n *node, a, b any) bool { return p.comparison.Equal(n.shape(), a, b) }

// isLoose reports whether absent, null and empty are one value.
func (p *Policy) isLoose() bool { return p.comparison.Mode() == value.BuiltIn }

// lookup returns the value of a key, or value.Absent.
func lookup(object map[string]any, key string) any { return value.Strict.Field(object, key) }

// brief returns the short form of a value for a message.
func brief(v any) string { return value.Printer{LiteralHTML: true}.Print(v) }

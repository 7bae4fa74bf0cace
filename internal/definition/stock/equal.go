package stock

import (
	"fmt"

	"k8s.io/apiserver/pkg/cel"

	"holdfast.dev/holdfast/schema"
)

// equal returns the expression that is true if two values are equal for package immutability. It
// records a refusal if there is no such expression.
func (w *writer) equal(n *node, p operands) string {
	if !w.isComparable(n) {
		return "false"
	}
	return w.equalValue(n, p)
}

// equalValue is equal for a node that isComparable has accepted.
func (w *writer) equalValue(n *node, p operands) string {
	if w.isPlain(n) {
		return fmt.Sprintf("%s == %s", p.new, p.old)
	}
	var expression string
	switch {
	case n.isList():
		expression = w.equalLists(n, p)
	case n.values() != nil:
		w.depth++
		key := w.variable("key")
		inner := w.equalValue(n.values(), operands{p.new + "[" + key + "]", p.old + "[" + key + "]"})
		w.depth--
		expression = and(sameSize(p), fmt.Sprintf("%s.all(%s, %s)", p.new, key, and(key+" in "+p.old, inner)))
	default:
		expression = w.equalObjects(n, p)
	}
	if n.Schema.Nullable && (!w.typed || n.Edge != schema.Property) {
		return fmt.Sprintf("(dyn(%s) == null || dyn(%s) == null ? dyn(%s) == dyn(%s) : %s)",
			p.new, p.old, p.new, p.old, group(expression, disjunction))
	}
	return expression
}

func (w *writer) equalObjects(n *node, p operands) string {
	var all []string
	for _, child := range n.children() {
		value, present := w.fields(child, p)
		equal := w.equalValue(child, value)
		if child.isRequired() && !child.Schema.Nullable {
			all = append(all, equal)
			continue
		}
		all = append(all, relation(present.new)+" == "+relation(present.old), or(not(present.new), equal))
	}
	return and(all...)
}

// sameSize returns the expression that is true if two lists or maps have the same size.
func sameSize(p operands) string { return fmt.Sprintf("size(%s) == size(%s)", p.new, p.old) }

func (w *writer) equalLists(n *node, p operands) string {
	switch n.Schema.ListType {
	case "set":
		w.depth++
		item := w.variable("item")
		w.depth--
		return and(sameSize(p), fmt.Sprintf("%s.all(%s, %s in %s)", p.new, item, item, p.old))
	case "map":
		return w.equalMapLists(n, p)
	}
	return and(sameSize(p), w.byIndex(n, p, func(in operands) string { return w.equalValue(n.items(), in) }))
}

// equalMapLists returns the expression that is true if two lists of type map have equal items in
// the same order. In a schema, the operator == ignores the order of such lists. The function map
// returns a list without a type, for which == compares the order, so the expression compares the
// results of map.
func (w *writer) equalMapLists(n *node, p operands) string {
	w.depth++
	defer func() { w.depth-- }()
	in := w.variables("item", "other")
	mapped := func(expression string) string {
		return fmt.Sprintf("%s.map(%s, %s) == %s.map(%s, %s)", p.new, in.new, expression, p.old, in.new, expression)
	}
	if w.isPlain(n.items()) {
		return mapped(in.new)
	}
	var all []string
	for _, name := range n.Schema.ListMapKeys {
		if n.Schema.Items.Properties[name] == nil {
			return w.refuse(n, "", "the items have no property %q, which is a key of the list", name)
		}
		value, _ := w.fields(n.items().property(name), operands{in.new, in.new})
		all = append(all, mapped(value.new))
	}
	all = append(all, fmt.Sprintf("%s.all(%s, %s.exists(%s, %s))",
		p.new, in.new, p.old, in.old, and(w.sameKeys(n, in), w.equalValue(n.items(), in))))
	return and(all...)
}

// isPlain reports whether the values of n are plain: the operator == of CEL compares them as package
// immutability does. k8s.io/apiserver/pkg/cel/common/valuesunstructured.go implements the operator.
func (w *writer) isPlain(n *node) bool {
	return n.find(w.isSpecial) == nil
}

// isSpecial reports whether n is the reason that a value is not plain, and not a node below n.
func (w *writer) isSpecial(n *node) bool {
	isSet := n.isList() && n.Schema.ListType == "set"
	if !w.typed {
		return isSet
	}
	if n.isList() && n.Schema.ListType == "map" {
		return true
	}
	if isSet && n.Schema.Items != nil && !n.items().isScalar() {
		return true
	}
	// In objects, == ignores properties whose names look like escaped names. It counts properties that are
	// null and then skips them, so that such a property can hide that another one is gone.
	for name, property := range n.Schema.Properties {
		if unescaped, ok := cel.Unescape(name); !ok || unescaped != name || property.Nullable {
			return true
		}
	}
	return false
}

// isComparable reports whether there is an expression for the equality of the values of n, and
// records a refusal if not.
func (w *writer) isComparable(n *node) bool {
	if !w.typed && w.isPlain(n) {
		return true
	}
	unknown := n.find((*node).keepsUnknown)
	switch {
	case unknown == nil:
	case w.typed:
		w.refuse(unknown, "specify the fields, or use --to policy", "CEL cannot compare fields that the schema does not specify")
		return false
	default:
		w.refuse(unknown, "specify the fields, or make the sets beside them lists of type atomic",
			"CEL cannot compare fields that the schema does not specify beside a list of type set")
		return false
	}
	nested := n.find(func(below *node) bool {
		return below.isList() && below.Schema.ListType == "set" && below.Schema.Items != nil && !w.isPlain(below.items())
	})
	if nested != nil {
		w.refuse(nested, "make it a list of type atomic", "CEL cannot compare a set whose items have lists of type map or set")
		return false
	}
	return true
}

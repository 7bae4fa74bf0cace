package stock

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// operands are the CEL expressions for a value in the new and in the old object.
type operands struct{ new, old string }

// writer writes the CEL expression of one marker.
type writer struct {
	// target is the node with the marker. Other markers are ignored.
	target *schema.Schema
	marker immutability.Marker
	// typed is true for rules in a schema, false for policies.
	typed bool
	// closed means that an absent parent counts as one without fields.
	closed bool

	depth    int // of comprehensions
	refusals []Refusal
}

// refuse records that there is no expression for the marker.
func (w *writer) refuse(at *node, fix, format string, args ...any) string {
	w.refusals = append(w.refusals, Refusal{at: at, Message: fmt.Sprintf(format, args...), Fix: fix})
	return "false"
}

// leadsToTarget reports whether the target is n or below it.
func (w *writer) leadsToTarget(n *node) bool {
	return n.find(func(below *node) bool { return below.Schema == w.target }) != nil
}

// check returns the expression that is true if the marker allows the change of a value that both
// objects have.
func (w *writer) check(n *node, p operands) string {
	if n.Schema != w.target {
		return w.unlessNull(n, p, w.contents(n, p))
	}
	if w.marker == immutability.Immutable {
		return w.equal(n, p)
	}
	return w.constrained(n, p, notNull(n, p))
}

// notNull returns the expressions that are true if a value is not null; empty if it cannot be null.
func notNull(n *node, p operands) operands {
	if !n.Schema.Nullable && !n.isUntyped() {
		return operands{}
	}
	return operands{fmt.Sprintf("dyn(%s) != null", p.new), fmt.Sprintf("dyn(%s) != null", p.old)}
}

// constrained returns the expression for a marker that forbids some changes only. present are the
// expressions that are true if an object has the value and it is not null; empty if both do.
func (w *writer) constrained(n *node, p, present operands) string {
	switch {
	case w.typed && n.isMap() && n.values() == nil:
		return w.refuse(n, "give the values a schema, or use --to policy", "CEL cannot list the keys of a map whose values have no schema")
	case w.typed && !n.isExposed():
		return w.refuse(n, "give it a type, or use --to policy", "CEL cannot read values whose type the schema does not specify")
	}
	set := operands{and(present.new, filled(n, p.new)), and(present.old, filled(n, p.old))}
	var all []string
	if w.marker&immutability.NoSet != 0 {
		all = append(all, or(not(set.new), set.old))
	}
	if w.marker&immutability.NoUnset != 0 {
		all = append(all, or(not(set.old), set.new))
	}
	if w.marker&immutability.NoModify != 0 {
		all = append(all, or(not(set.new), not(set.old), w.equal(n, p)))
	}
	if w.marker&immutability.ImmutableKeys != 0 {
		all = append(all, w.keys(n, p, present))
	}
	return and(all...)
}

// filled returns the expression that is true if a value that is not null is set: for lists and maps,
// empty is unset.
func filled(n *node, operand string) string {
	switch {
	case n.isList() || n.isMap():
		return fmt.Sprintf("size(%s) != 0", operand)
	case n.isUntyped():
		return fmt.Sprintf("dyn(%s) != []", operand)
	}
	return "true"
}

// unlessNull returns an expression that is true if a value is null.
func (w *writer) unlessNull(n *node, p operands, expression string) string {
	if !n.Schema.Nullable {
		return expression
	}
	return or(fmt.Sprintf("dyn(%s) == null", p.new), fmt.Sprintf("dyn(%s) == null", p.old), expression)
}

// contents returns the expression for the values inside of a value that both objects have.
func (w *writer) contents(n *node, p operands) string {
	switch {
	case n.isList() && n.Schema.ListType == "map":
		w.depth++
		in := w.variables("new", "old")
		inner := w.check(n.items(), in)
		w.depth--
		return fmt.Sprintf("%s.all(%s, %s.all(%s, %s))", p.old, in.old, p.new, in.new, or(not(w.sameKeys(n, in)), inner))
	case n.isList():
		return w.byIndex(n, p, func(in operands) string { return w.check(n.items(), in) })
	case n.values() != nil:
		w.depth++
		key := w.variable("key")
		inner := w.check(n.values(), operands{p.new + "[" + key + "]", p.old + "[" + key + "]"})
		w.depth--
		return fmt.Sprintf("%s.all(%s, %s)", p.old, key, or(not(key+" in "+p.new), inner))
	}
	return w.properties(n, p, operands{})
}

// properties returns the expression for the properties of an object. present are the expressions
// that are true if the old and the new object have it; empty if both do.
func (w *writer) properties(n *node, p, present operands) string {
	for _, child := range n.children() {
		if w.leadsToTarget(child) {
			return w.property(child, p, present)
		}
	}
	return "true"
}

// property returns the expression for one property. If one of the objects does not have a parent
// of the target, every change is allowed, unless escapes are closed. Then the expression for a
// parent is that for its fields, with the condition that an object has the parent.
func (w *writer) property(n *node, p, parent operands) string {
	value, present := w.fields(n, p)
	if n.Schema == w.target && w.marker == immutability.Immutable {
		equal := w.equal(n, value)
		if parent.new == "" && n.isRequired() && !n.Schema.Nullable {
			return equal
		}
		present = operands{and(parent.new, present.new), and(parent.old, present.old)}
		return and(relation(present.new)+" == "+relation(present.old), or(not(present.new), equal))
	}
	if !w.typed {
		null := notNull(n, value)
		present = operands{and(present.new, null.new), and(present.old, null.old)}
	}
	present = operands{and(parent.new, present.new), and(parent.old, present.old)}
	switch {
	case n.Schema == w.target && parent.new == "" && n.isRequired() && notNull(n, value) == operands{}:
		return w.constrained(n, value, operands{})
	case n.Schema == w.target:
		return w.constrained(n, value, present)
	case w.closed && !n.isContainer():
		return w.properties(n, value, present)
	}
	return or(not(present.new), not(present.old), w.contents(n, value))
}

// keys returns the expression for the constraints about keys. present are the expressions that are true
// if an object has the value; empty if both have it.
func (w *writer) keys(n *node, p, present operands) string {
	var all []string
	reverse := func(p operands) operands { return operands{p.old, p.new} }
	if w.marker&immutability.NoRemoveItem != 0 {
		all = append(all, w.subset(n, reverse(p), reverse(present)))
	}
	if w.marker&immutability.NoAddItem != 0 {
		all = append(all, w.subset(n, p, present))
	}
	return and(all...)
}

// subset returns the expression that is true if every key of the first operand is one of the
// second.
func (w *writer) subset(n *node, p, present operands) string {
	w.depth++
	defer func() { w.depth-- }()
	var key, known string
	switch {
	case !n.isList():
		key = w.variable("key")
		known = fmt.Sprintf("%s in %s", key, p.old)
	case n.Schema.ListType == "set":
		key = w.variable("item")
		known = fmt.Sprintf("%s in %s", key, p.old)
	default:
		in := w.variables("item", "other")
		key = in.new
		known = fmt.Sprintf("%s.exists(%s, %s)", p.old, in.old, w.sameKeys(n, in))
	}
	if present.new == "" {
		return fmt.Sprintf("%s.all(%s, %s)", p.new, key, known)
	}
	return or(not(present.new), fmt.Sprintf("%s.all(%s, %s)", p.new, key, and(present.old, known)))
}

// sameKeys returns the expression that is true if two items of a list of type map have the same
// keys.
func (w *writer) sameKeys(list *node, p operands) string {
	var all []string
	for _, name := range list.Schema.ListMapKeys {
		if list.Schema.Items.Properties[name] == nil {
			return w.refuse(list, "", "the items have no property %q, which is a key of the list", name)
		}
		value, _ := w.fields(list.items().property(name), p)
		all = append(all, fmt.Sprintf("%s == %s", value.new, value.old))
	}
	return and(all...)
}

// maxIndexes is the largest allowed maxItems of a list whose items are matched by index. In older
// versions of Kubernetes, CEL has no function that returns the numbers below n, so the rule
// contains all indexes of the list.
const maxIndexes = 128

// byIndex returns the expression for the items of a list that both objects have at an index.
func (w *writer) byIndex(n *node, p operands, item func(operands) string) string {
	if n.Schema.MaxItems == nil || *n.Schema.MaxItems > maxIndexes {
		return w.refuse(n, fmt.Sprintf("add maxItems, at most %d, or make it a list of type map", maxIndexes),
			"CEL needs a bound to compare the items of a list by their index")
	}
	indexes := make([]string, 0, maxIndexes)
	for i := range *n.Schema.MaxItems {
		indexes = append(indexes, strconv.FormatInt(i, 10))
	}
	if len(indexes) == 0 {
		return "true"
	}
	w.depth++
	index := w.variable("index")
	inner := item(operands{p.new + "[" + index + "]", p.old + "[" + index + "]"})
	w.depth--
	beyond := func(list string) string { return fmt.Sprintf("%s >= size(%s)", index, list) }
	return fmt.Sprintf("[%s].all(%s, %s)", strings.Join(indexes, ", "), index, or(beyond(p.new), beyond(p.old), inner))
}

// variable returns the name of the variable of a comprehension. Names differ from those of the
// comprehensions around it.
func (w *writer) variable(name string) string {
	if w.depth == 1 {
		return name
	}
	return name + strconv.Itoa(w.depth)
}

func (w *writer) variables(newName, oldName string) operands {
	return operands{w.variable(newName), w.variable(oldName)}
}

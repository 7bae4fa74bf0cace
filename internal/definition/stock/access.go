package stock

import (
	"fmt"
	"strconv"
)

// fields returns the expressions for the value of the property n of an object, and those that are
// true if the object has it.
func (w *writer) fields(n *node, of operands) (value, present operands) {
	if !w.canSelect(n) {
		if w.typed {
			w.refuse(n, "rename the property, or use --to policy", "CEL cannot name this property")
		}
		name := strconv.Quote(n.Name)
		index := func(object string) string { return fmt.Sprintf("dyn(%s)[%s]", object, name) }
		contains := func(object string) string { return fmt.Sprintf("%s in dyn(%s)", name, object) }
		return operands{index(of.new), index(of.old)}, operands{contains(of.new), contains(of.old)}
	}
	name, _ := identifier(n.Name)
	value = operands{of.new + "." + name, of.old + "." + name}
	return value, operands{"has(" + value.new + ")", "has(" + value.old + ")"}
}

// optional returns the expression for the optional value of the property n of an object, which may
// be optional itself. Policies only.
func (w *writer) optional(n *node, of string) string {
	if !w.canSelect(n) {
		return fmt.Sprintf("dyn(%s)[?%s]", of, strconv.Quote(n.Name))
	}
	return of + ".?" + n.Name
}

// canSelect reports whether a property can be selected with a dot. In a policy, objects are maps,
// in which a property has its own name, not the escaped one. When Kubernetes checks the types of a
// policy, however, objects have the types of the schema. A property without such a type is
// selected with an index, of an object without type.
func (w *writer) canSelect(n *node) bool {
	name, ok := identifier(n.Name)
	if w.typed {
		return ok
	}
	return ok && name == n.Name && n.isExposed()
}

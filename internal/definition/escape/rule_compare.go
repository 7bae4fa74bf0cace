package escape

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"holdfast.dev/holdfast/internal/definition/logic"
)

// equal returns the results of a == b. A value that contains the path of the
// scenario differs between self and oldSelf. About other values nothing is known.
func (v evaluation) equal(a, b ast.Expr) logic.Truth {
	left, isRef := refOf(a)
	right, areRefs := refOf(b)
	switch {
	case isRef && areRefs && left.isCounterpartOf(right):
		return v.fields(left, right)
	case isRef && areRefs && left.key != "" && left.key == v.item && right.key == v.item && slices.Equal(left.path, right.path):
		return v.values(left, right)
	}
	if v.sizes(a, b) {
		return logic.No
	}
	return v.truth(a).Equals(v.truth(b))
}

// fields returns the results of self.x == oldSelf.x.
func (v evaluation) fields(left, right ref) logic.Truth {
	switch {
	case v.missing(left) || v.missing(right):
		return logic.Failed
	case hasPrefix(v.path, left.path):
		return logic.No
	}
	return logic.Unknown
}

// values returns the results of self[key] == oldSelf[key].
func (v evaluation) values(left, right ref) logic.Truth {
	switch {
	case v.missing(left) || v.missing(right):
		return logic.Failed
	case slices.Equal(left.path, v.path) && left.root != right.root && v.event == itemChanged:
		return logic.No
	}
	return logic.Unknown
}

// sizes reports whether a == b is size(self.x) == size(oldSelf.x), and one item of
// x is added or removed.
func (v evaluation) sizes(a, b ast.Expr) bool {
	left, ok := sizeOf(a)
	right, alsoOK := sizeOf(b)
	return ok && alsoOK && left.isCounterpartOf(right) && slices.Equal(left.path, v.path) &&
		(v.event == itemRemoved || v.event == itemAdded)
}

// sizeOf returns the argument of size().
func sizeOf(e ast.Expr) (ref, bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "size" {
		return ref{}, false
	}
	operands := operandsOf(e.AsCall())
	if len(operands) != 1 {
		return ref{}, false
	}
	return refOf(operands[0])
}

// in returns the results of: item in self.x.
func (v evaluation) in(element, container ast.Expr) logic.Truth {
	if c, ok := refOf(container); ok {
		if v.missing(c) {
			return logic.Failed
		}
		e, isRef := refOf(element)
		if isRef && e.variable != "" && e.variable == v.item && len(e.path) == 0 && v.holdsItems(c) {
			return logic.Of(!v.absentFrom(c.root))
		}
	}
	return v.strict([]ast.Expr{element, container})
}

// holdsItems reports whether c is the map or list of the scenario.
func (v evaluation) holdsItems(c ref) bool {
	return c.root != "" && c.key == "" && slices.Equal(c.path, v.path) && v.event >= itemRemoved
}

// member returns the results of a call on a value: self.all(x, ...),
// sets.contains(self, oldSelf).
func (v evaluation) member(call ast.CallExpr) logic.Truth {
	args := call.Args()
	target, isRef := refOf(call.Target())
	switch function := call.FunctionName(); {
	case function == "hasValue" && isRef && len(args) == 0:
		if target.root == oldRoot && len(target.path) == 0 {
			return logic.Yes // a transition rule runs only if there is an old value
		}
		return v.has(call.Target())
	case function == "all" && isRef && len(args) == 2:
		return v.all(target, args[0], args[1])
	case function == "exists" && isRef && len(args) == 2:
		return v.exists(target, args[0], args[1])
	case isRef && target.variable == "sets" && len(args) == 2 && (function == "contains" || function == "equivalent"):
		return v.sets(function, args[0], args[1])
	}
	if r, ok := refOfCall(call); ok {
		if v.missing(r) {
			return logic.Failed
		}
		return logic.Unknown
	}
	return v.strict(operandsOf(call))
}

// all returns the results of target.all(variable, condition). If the item of the
// scenario is in target, the condition must hold for it.
func (v evaluation) all(target ref, variable, condition ast.Expr) logic.Truth {
	if v.missing(target) {
		return logic.Failed
	}
	if variable.Kind() != ast.IdentKind || !v.holdsItems(target) || v.absentFrom(target.root) {
		return logic.Unknown
	}
	v.item = variable.AsIdent()
	// About the other items nothing is known.
	return v.truth(condition).And(logic.Unknown)
}

// exists returns the results of target.exists(variable, condition). If the condition
// looks for the item of the scenario and target does not have this item, the result
// is no.
func (v evaluation) exists(target ref, variable, condition ast.Expr) logic.Truth {
	if v.missing(target) {
		return logic.Failed
	}
	if variable.Kind() == ast.IdentKind && v.item != "" && v.holdsItems(target) &&
		v.absentFrom(target.root) && pairs(condition, variable.AsIdent(), v.item) {
		return logic.No
	}
	return logic.Unknown
}

// pairs reports whether a condition compares two items: x == y, or
// x.name == y.name.
func pairs(condition ast.Expr, x, y string) bool {
	if condition.Kind() != ast.CallKind {
		return false
	}
	call := condition.AsCall()
	if len(call.Args()) != 2 {
		return false
	}
	switch call.FunctionName() {
	case operators.LogicalAnd:
		return pairs(call.Args()[0], x, y) || pairs(call.Args()[1], x, y)
	case operators.Equals:
		a, isRef := refOf(call.Args()[0])
		b, areRefs := refOf(call.Args()[1])
		return isRef && areRefs && slices.Equal(a.path, b.path) &&
			(a.variable == x && b.variable == y || a.variable == y && b.variable == x)
	}
	return false
}

// sets returns the results of sets.contains(a, b), which means that every item of b
// is in a, or of sets.equivalent(a, b).
func (v evaluation) sets(function string, a, b ast.Expr) logic.Truth {
	outer, ok := refOf(a)
	inner, alsoOK := refOf(b)
	if !ok || !alsoOK || !outer.isCounterpartOf(inner) || !v.holdsItems(outer) {
		return v.strict([]ast.Expr{a, b})
	}
	if v.absentFrom(outer.root) || function == "equivalent" && v.absentFrom(inner.root) {
		return logic.No
	}
	return logic.Unknown
}

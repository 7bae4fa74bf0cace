package escape

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"holdfast.dev/holdfast/internal/definition/logic"
)

// ref is a value that a rule refers to: self.spec.size, oldSelf.?size, self[key].
type ref struct {
	// root is self or oldSelf. It is empty for a variable of all() or exists().
	root     string
	variable string
	path     []string
	// key is the variable of self.x[key], empty without an index.
	key string
	// optional is set for ?. and orValue(), which do not fail for absent values.
	optional bool
}

const (
	newRoot = "self"
	oldRoot = "oldSelf"
)

// isCounterpartOf reports whether two refs are the old and the new value of one
// field.
func (r ref) isCounterpartOf(other ref) bool {
	return r.root != "" && other.root != "" && r.root != other.root &&
		r.key == "" && other.key == "" && slices.Equal(r.path, other.path)
}

// refOf returns the ref of an expression, false if it is none.
func refOf(e ast.Expr) (ref, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		if name == newRoot || name == oldRoot {
			return ref{root: name}, true
		}
		return ref{variable: name}, true
	case ast.SelectKind:
		r, ok := refOf(e.AsSelect().Operand())
		return r.child(logic.Unescape(e.AsSelect().FieldName())), ok && r.key == ""
	case ast.CallKind:
		return refOfCall(e.AsCall())
	}
	return ref{}, false
}

func refOfCall(call ast.CallExpr) (ref, bool) {
	if call.IsMemberFunction() {
		r, ok := refOf(call.Target())
		switch call.FunctionName() {
		case "value":
			// oldSelf is an optional value where optionalOldSelf is set.
			return r, ok && len(call.Args()) == 0
		case "orValue":
			r.optional = true
			return r, ok
		}
		return ref{}, false
	}
	if len(call.Args()) != 2 {
		return ref{}, false
	}
	r, ok := refOf(call.Args()[0])
	if !ok || r.key != "" {
		return ref{}, false
	}
	name, isName := logic.Text(call.Args()[1])
	switch call.FunctionName() {
	case operators.OptSelect:
		r = r.child(logic.Unescape(name))
		r.optional = true
		return r, isName
	case operators.Index, operators.OptIndex:
		r.optional = r.optional || call.FunctionName() == operators.OptIndex
		if isName {
			return r.child(name), true
		}
		key, isRef := refOf(call.Args()[1])
		r.key = key.variable
		return r, isRef && r.key != "" && len(key.path) == 0
	}
	return ref{}, false
}

func (r ref) child(name string) ref {
	r.path = append(slices.Clone(r.path), name)
	return r
}

// operandsOf returns the target and the arguments of a call.
func operandsOf(call ast.CallExpr) []ast.Expr {
	if call.IsMemberFunction() {
		return append([]ast.Expr{call.Target()}, call.Args()...)
	}
	return call.Args()
}

func isEquality(function string) bool {
	return function == operators.Equals || function == operators.NotEquals
}

// isContainerCall reports whether a function reads the items of a map or a list.
func isContainerCall(function string) bool {
	switch function {
	case "all", "exists", "contains", "equivalent", operators.In:
		return true
	}
	return false
}

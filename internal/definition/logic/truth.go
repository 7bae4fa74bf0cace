package logic

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// Truth is the set of results that an expression may have. It has more than one element if the result depends on what is not known.
// Failed is an error of CEL; the server refuses the write then, as it does for No.
type Truth uint8

// The results.
const (
	Yes Truth = 1 << iota
	No
	Failed

	Unknown = Yes | No | Failed
)

// Of returns the result b.
func Of(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

// Not exchanges Yes and No.
func (t Truth) Not() Truth { return t&Failed | t&Yes<<1 | t&No>>1 }

// Or returns the results of t || other. In CEL, true || error is true.
func (t Truth) Or(other Truth) Truth {
	result := (t | other) & Yes
	if t&^Yes == 0 || other&^Yes == 0 {
		return result
	}
	if t&No != 0 && other&No != 0 {
		result |= No
	}
	return result | (t|other)&Failed
}

// And returns the results of t && other.
func (t Truth) And(other Truth) Truth { return t.Not().Or(other.Not()).Not() }

// Equals returns the results of t == other, for booleans.
func (t Truth) Equals(other Truth) Truth {
	either, both := t|other, t&other
	result := either & Failed
	if both&(Yes|No) != 0 {
		result |= Yes
	}
	if t&Yes != 0 && other&No != 0 || t&No != 0 && other&Yes != 0 {
		result |= No
	}
	return result
}

// Connective returns the results of a call of a logical operator, false if it is none. truth returns those of an operand.
func Connective(call ast.CallExpr, truth func(ast.Expr) Truth) (Truth, bool) {
	args := call.Args()
	switch function := call.FunctionName(); {
	case function == operators.LogicalNot && len(args) == 1:
		return truth(args[0]).Not(), true
	case function == operators.LogicalAnd && len(args) == 2:
		return truth(args[0]).And(truth(args[1])), true
	case function == operators.LogicalOr && len(args) == 2:
		return truth(args[0]).Or(truth(args[1])), true
	case function == operators.Conditional && len(args) == 3:
		condition := truth(args[0])
		result := condition & Failed
		if condition&Yes != 0 {
			result |= truth(args[1])
		}
		if condition&No != 0 {
			result |= truth(args[2])
		}
		return result, true
	}
	return Unknown, false
}

package escape

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"holdfast.dev/holdfast/internal/definition/logic"
)

// scenario is one change of an update, at a path below the node of a rule. All
// values above the path are present before and after. The other changes of the
// update are not known.
type scenario struct {
	event event
	path  []string
}

type event uint8

const (
	changed     event = iota // the value changes
	removed                  // the value is removed
	set                      // the value is set
	itemRemoved              // a key or item of the value is removed
	itemAdded                // a key or item of the value is added
	itemChanged              // the value of a key changes
)

// evaluation evaluates one rule in one scenario. item is the name of the CEL variable
// that holds the key or item of the scenario, empty outside of all().
type evaluation struct {
	scenario
	item string
}

// truth returns the possible results of an expression.
func (v evaluation) truth(e ast.Expr) logic.Truth {
	switch e.Kind() {
	case ast.LiteralKind:
		if b, ok := e.AsLiteral().(types.Bool); ok {
			return logic.Of(bool(b))
		}
		return logic.Unknown
	case ast.CallKind:
		return v.call(e.AsCall())
	case ast.ListKind:
		return v.strict(e.AsList().Elements())
	}
	if r, ok := refOf(e); ok && v.missing(r) {
		return logic.Failed
	}
	if e.Kind() == ast.SelectKind {
		return v.strict([]ast.Expr{e.AsSelect().Operand()})
	}
	return logic.Unknown
}

// strict returns the results of a function that this package does not know. The call
// fails if an argument fails.
func (v evaluation) strict(arguments []ast.Expr) logic.Truth {
	for _, e := range arguments {
		if v.truth(e) == logic.Failed {
			return logic.Failed
		}
	}
	return logic.Unknown
}

func (v evaluation) call(call ast.CallExpr) logic.Truth {
	args := call.Args()
	if call.IsMemberFunction() {
		return v.member(call)
	}
	if result, ok := logic.Connective(call, v.truth); ok {
		return result
	}
	switch function := call.FunctionName(); {
	case function == operators.Equals && len(args) == 2:
		return v.equal(args[0], args[1])
	case function == operators.NotEquals && len(args) == 2:
		return v.equal(args[0], args[1]).Not()
	case function == operators.In && len(args) == 2:
		return v.in(args[0], args[1])
	case function == "has" && len(args) == 1:
		return v.has(args[0])
	}
	if r, ok := refOfCall(call); ok {
		if v.missing(r) {
			return logic.Failed
		}
		return logic.Unknown
	}
	return v.strict(args)
}

// missing reports whether the value of r is absent, so that CEL fails.
func (v evaluation) missing(r ref) bool {
	if r.optional || r.root == "" {
		return false
	}
	if r.key != "" {
		return r.key == v.item && slices.Equal(r.path, v.path) && v.absentFrom(r.root)
	}
	isField := v.event == removed || v.event == set
	return isField && v.absentFrom(r.root) && hasPrefix(r.path, v.path)
}

// absentFrom reports whether the field or item of the scenario is absent from self
// or oldSelf.
func (v evaluation) absentFrom(root string) bool {
	switch v.event {
	case removed, itemRemoved:
		return root == newRoot
	case set, itemAdded:
		return root == oldRoot
	}
	return false
}

// has returns the results of has(self.x).
func (v evaluation) has(e ast.Expr) logic.Truth {
	r, ok := refOf(e)
	if !ok || r.root == "" || r.key != "" || len(r.path) == 0 {
		return logic.Unknown
	}
	holder := r
	holder.path = r.path[:len(r.path)-1]
	switch {
	case v.missing(holder):
		return logic.Failed
	case slices.Equal(r.path, v.path) && (v.event == removed || v.event == set):
		return logic.Of(!v.absentFrom(r.root))
	case hasPrefix(v.path, r.path):
		return logic.Yes
	}
	return logic.Unknown
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

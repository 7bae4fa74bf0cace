package escape

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
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

// truth is the set of results that a rule may have in a scenario. It has more than
// one element if the result depends on the other changes of the update. failed is
// an error of CEL; the server refuses the write then, as it does for no.
type truth uint8

const (
	yes truth = 1 << iota
	no
	failed

	unknown = yes | no | failed
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// not exchanges yes and no.
func (t truth) not() truth { return t&failed | t&yes<<1 | t&no>>1 }

// or returns the results of t || other. In CEL, true || error is true.
func (t truth) or(other truth) truth {
	result := (t | other) & yes
	if t&^yes == 0 || other&^yes == 0 {
		return result
	}
	if t&no != 0 && other&no != 0 {
		result |= no
	}
	return result | (t|other)&failed
}

// and returns the results of t && other.
func (t truth) and(other truth) truth { return t.not().or(other.not()).not() }

// equals returns the results of t == other, for booleans.
func (t truth) equals(other truth) truth {
	either, both := t|other, t&other
	result := either & failed
	if both&(yes|no) != 0 {
		result |= yes
	}
	if t&yes != 0 && other&no != 0 || t&no != 0 && other&yes != 0 {
		result |= no
	}
	return result
}

// evaluation evaluates one rule in one scenario. item is the name of the CEL variable
// that holds the key or item of the scenario, empty outside of all().
type evaluation struct {
	scenario
	item string
}

// truth returns the possible results of an expression.
func (v evaluation) truth(e ast.Expr) truth {
	switch e.Kind() {
	case ast.LiteralKind:
		if b, ok := e.AsLiteral().(types.Bool); ok {
			return truthOf(bool(b))
		}
		return unknown
	case ast.CallKind:
		return v.call(e.AsCall())
	case ast.ListKind:
		return v.strict(e.AsList().Elements())
	}
	if r, ok := refOf(e); ok && v.missing(r) {
		return failed
	}
	if e.Kind() == ast.SelectKind {
		return v.strict([]ast.Expr{e.AsSelect().Operand()})
	}
	return unknown
}

// strict returns the results of a function that this package does not know. The call
// fails if an argument fails.
func (v evaluation) strict(arguments []ast.Expr) truth {
	for _, e := range arguments {
		if v.truth(e) == failed {
			return failed
		}
	}
	return unknown
}

func (v evaluation) call(call ast.CallExpr) truth {
	args := call.Args()
	if call.IsMemberFunction() {
		return v.member(call)
	}
	switch function := call.FunctionName(); {
	case function == operators.LogicalNot && len(args) == 1:
		return v.truth(args[0]).not()
	case function == operators.LogicalAnd && len(args) == 2:
		return v.truth(args[0]).and(v.truth(args[1]))
	case function == operators.LogicalOr && len(args) == 2:
		return v.truth(args[0]).or(v.truth(args[1]))
	case function == operators.Conditional && len(args) == 3:
		return v.conditional(args[0], args[1], args[2])
	case function == operators.Equals && len(args) == 2:
		return v.equal(args[0], args[1])
	case function == operators.NotEquals && len(args) == 2:
		return v.equal(args[0], args[1]).not()
	case function == operators.In && len(args) == 2:
		return v.in(args[0], args[1])
	case function == "has" && len(args) == 1:
		return v.has(args[0])
	}
	if r, ok := refOfCall(call); ok {
		if v.missing(r) {
			return failed
		}
		return unknown
	}
	return v.strict(args)
}

func (v evaluation) conditional(condition, then, otherwise ast.Expr) truth {
	verdict := v.truth(condition)
	result := verdict & failed
	if verdict&yes != 0 {
		result |= v.truth(then)
	}
	if verdict&no != 0 {
		result |= v.truth(otherwise)
	}
	return result
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
func (v evaluation) has(e ast.Expr) truth {
	r, ok := refOf(e)
	if !ok || r.root == "" || r.key != "" || len(r.path) == 0 {
		return unknown
	}
	holder := r
	holder.path = r.path[:len(r.path)-1]
	switch {
	case v.missing(holder):
		return failed
	case slices.Equal(r.path, v.path) && (v.event == removed || v.event == set):
		return truthOf(!v.absentFrom(r.root))
	case hasPrefix(v.path, r.path):
		return yes
	}
	return unknown
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

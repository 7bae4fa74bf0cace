package logic

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"holdfast.dev/holdfast/schema"
)

// Follows reports whether every value that a schema accepts satisfies a rule of a changed schema, for the usual reasons: the rule is about
// fields that the old schema does not have, or about values that it does not accept. The caller makes sure that no default of a field
// that both have differs.
func Follows(rule string, old, updated *schema.Schema) bool {
	expr := Parse(rule)
	self := &operand{old, updated, old.Nullable}
	return expr != nil && values{"self": self, "oldSelf": self}.truth(expr) == Yes
}

// operand is what is known about the value of an expression.
type operand struct {
	old, updated *schema.Schema
	// mayFail says that CEL fails because the value may be absent or null.
	mayFail bool
}

// failed adds the failure of an operand to a result.
func (o *operand) failed(t Truth) Truth {
	if o.mayFail {
		return t | Failed
	}
	return t
}

// values are the variables of an expression.
type values map[string]*operand

// operand returns what is known about the value of an expression, nil if nothing is.
func (v values) operand(e ast.Expr) *operand {
	switch e.Kind() {
	case ast.IdentKind:
		return v[e.AsIdent()]
	case ast.SelectKind:
		holder, name := v.operand(e.AsSelect().Operand()), Unescape(e.AsSelect().FieldName())
		// The schema of metadata need not name what it has.
		if holder == nil || name == "metadata" {
			return nil
		}
		old, updated := holder.old.Properties[name], holder.updated.Properties[name]
		if old == nil || updated == nil {
			return nil
		}
		isThere := old.Default != nil || slices.Contains(holder.old.Required, name)
		return &operand{old, updated, holder.mayFail || old.Nullable || !isThere}
	}
	return nil
}

// truth returns the possible results of an expression.
func (v values) truth(e ast.Expr) Truth {
	if e.Kind() == ast.LiteralKind {
		if b, ok := e.AsLiteral().(types.Bool); ok {
			return Of(bool(b))
		}
	}
	if e.Kind() != ast.CallKind {
		return Unknown
	}
	call := e.AsCall()
	args := call.Args()
	if call.IsMemberFunction() {
		return v.member(call)
	}
	if result, ok := Connective(call, v.truth); ok {
		return result
	}
	switch function := call.FunctionName(); {
	case function == operators.Equals && len(args) == 2:
		return v.equal(args[0], args[1])
	case function == operators.NotEquals && len(args) == 2:
		return v.equal(args[0], args[1]).Not()
	case function == operators.In && len(args) == 2 && args[1].Kind() == ast.ListKind && args[1].AsList().Size() > 0:
		result := No
		for _, element := range args[1].AsList().Elements() {
			result = result.Or(v.equal(args[0], element))
		}
		return result
	case function == operators.LessEquals && len(args) == 2 && v.isEmpty(args[0]):
		// The rules limit how many items there are.
		limit, ok := args[1].AsLiteral().(types.Int)
		if ok && limit >= 0 {
			return Yes
		}
	case function == "has" && len(args) == 1 && args[0].Kind() == ast.SelectKind:
		return v.has(args[0].AsSelect())
	}
	return Unknown
}

// has returns the results of has(self.x).
func (v values) has(field ast.SelectExpr) Truth {
	holder, name := v.operand(field.Operand()), Unescape(field.FieldName())
	if holder == nil || !lacks(holder.old, name) {
		return Unknown
	}
	if added := holder.updated.Properties[name]; added == nil || added.Default != nil {
		return Unknown // objects get the default
	}
	return holder.failed(No)
}

// lacks reports whether no value of a schema has a property.
func lacks(s *schema.Schema, name string) bool {
	switch name {
	case "apiVersion", "kind", "metadata":
		// The schema of an object need not have them.
		return false
	}
	keeps := s.PreserveUnknownFields != nil && *s.PreserveUnknownFields || s.NoPrune != nil && *s.NoPrune
	return !keeps && !s.EmbeddedResource && !s.IntOrString && s.AdditionalProperties == nil && len(s.PatternProperties) == 0 &&
		len(s.Properties) > 0 && s.Properties[name] == nil
}

// equal returns the results of a == b, where one is a literal that the enum of the other may not have.
func (v values) equal(a, b ast.Expr) Truth {
	if _, ok := Text(a); ok {
		a, b = b, a
	}
	text, ok := Text(b)
	left := v.operand(a)
	if !ok || left == nil || len(left.old.Enum) == 0 || slices.Contains(left.old.Enum, any(text)) {
		return Unknown
	}
	return left.failed(No)
}

// member returns the results of list.all(item, condition) and list.exists(item, condition).
func (v values) member(call ast.CallExpr) Truth {
	condition, list := v.each(call)
	switch {
	case list == nil:
		return Unknown
	case call.FunctionName() == "all" && condition == Yes:
		return list.failed(Yes)
	case call.FunctionName() == "exists" && condition == No:
		return list.failed(No)
	}
	return Unknown
}

// each returns the results of the condition of a macro for an item, and the list. The list is nil if its items are not known.
func (v values) each(call ast.CallExpr) (Truth, *operand) {
	args := call.Args()
	list := v.operand(call.Target())
	if list == nil || list.old.Items == nil || list.updated.Items == nil || len(args) != 2 || args[0].Kind() != ast.IdentKind {
		return Unknown, nil
	}
	inner := maps.Clone(v)
	inner[args[0].AsIdent()] = &operand{list.old.Items, list.updated.Items, list.old.Items.Nullable}
	return inner.truth(args[1]), list
}

// isEmpty reports whether an expression is the size of a list.filter(item, condition) with no items.
func (v values) isEmpty(e ast.Expr) bool {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "size" {
		return false
	}
	call := e.AsCall()
	target := call.Target()
	if !call.IsMemberFunction() {
		if len(call.Args()) != 1 {
			return false
		}
		target = call.Args()[0]
	}
	if target.Kind() != ast.CallKind || !target.AsCall().IsMemberFunction() || target.AsCall().FunctionName() != "filter" {
		return false
	}
	condition, list := v.each(target.AsCall())
	return list != nil && condition == No && !list.mayFail
}

package while

import (
	"slices"
	"strconv"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Field is a field that a condition reads.
type Field struct {
	// Path is the field as the condition names it, such as oldSelf.status.phase. Items of a list are [*].
	Path string
	// Schema is its node.
	Schema *structuralschema.Structural
	// Protected is false if the field may be absent, and no has() in the condition prevents that it is read then.
	Protected bool
	// Read is false if the condition only asks whether the field exists.
	Read bool
	// Compared means that == or != compares the whole value.
	Compared bool
}

// Declared returns the CEL type of the objects of one version of a definition, with their whole metadata.
func Declared(s *structuralschema.Structural) *apiservercel.DeclType {
	return model.SchemaDeclType(withMetadata(s), false)
}

// Fields returns the fields of objects that an expression reads, in the order of the expression and each once. A field counts as
// protected only if all its reads are. The error is that of the parser.
func Fields(s *structuralschema.Structural, expression string) ([]Field, error) {
	parsed, err := parse(expression)
	if err != nil {
		return nil, err
	}
	r := &reader{variables: map[string]place{variable: {path: variable, node: withMetadata(s), present: true}}}
	r.read(parsed.NativeRep().Expr(), nil)
	return r.found, nil
}

func parse(expression string) (*celgo.Ast, error) {
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).NewExpressionsEnv()
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil, inOneLine(issues)
	}
	return parsed, nil
}

// Rename returns an expression in which the stored object has another name. ok is false if the expression gives the name of the
// stored object to a variable of its own.
func Rename(expression, name string) (renamed string, ok bool) {
	parsed, err := parse(expression)
	if err != nil {
		return "", false
	}
	text, info := []rune(expression), parsed.NativeRep().SourceInfo()
	var starts []int32
	ok = true
	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			c := e.AsComprehension()
			ok = ok && c.IterVar() != variable && c.IterVar2() != variable
		case ast.IdentKind:
			if at, known := info.GetOffsetRange(e.ID()); e.AsIdent() == variable && known {
				starts = append(starts, at.Start)
			}
		}
	}))
	slices.Sort(starts)
	for _, start := range slices.Backward(slices.Compact(starts)) {
		end := int(start) + len(variable)
		if end > len(text) || string(text[start:end]) != variable {
			return "", false
		}
		text = slices.Replace(text, int(start), end, []rune(name)...)
	}
	return string(text), ok
}

// place is a value that an expression names.
type place struct {
	path string
	// node is nil if the schema does not say what the value is.
	node *structuralschema.Structural
	// present is true if every value around it has it.
	present bool
}

// reader collects the fields of an expression.
type reader struct {
	variables map[string]place
	found     []Field
}

// read reads an expression. present are the paths that are known to exist when its value counts. CEL ignores an error of one operand
// of && or || if the other operand decides, whichever comes first, so each operand protects the other.
func (r *reader) read(e ast.Expr, present []string) {
	switch e.Kind() {
	case ast.SelectKind:
		r.read(e.AsSelect().Operand(), present)
		r.add(e, present)
	case ast.CallKind:
		r.call(e, present)
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			r.read(item, present)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.read(entry.AsMapEntry().Key(), present)
			r.read(entry.AsMapEntry().Value(), present)
		}
	case ast.ComprehensionKind:
		r.comprehension(e.AsComprehension(), present)
	}
}

func (r *reader) call(e ast.Expr, present []string) {
	call := e.AsCall()
	args := call.Args()
	if call.IsMemberFunction() {
		r.read(call.Target(), present)
	}
	switch call.FunctionName() {
	case operators.LogicalAnd:
		r.read(args[0], slices.Concat(present, r.known(args[1], true)))
		r.read(args[1], slices.Concat(present, r.known(args[0], true)))
		return
	case operators.LogicalOr:
		r.read(args[0], slices.Concat(present, r.known(args[1], false)))
		r.read(args[1], slices.Concat(present, r.known(args[0], false)))
		return
	case operators.Conditional:
		r.read(args[0], present)
		r.read(args[1], slices.Concat(present, r.known(args[0], true)))
		r.read(args[2], slices.Concat(present, r.known(args[0], false)))
		return
	}
	for _, arg := range args {
		r.read(arg, present)
	}
	switch call.FunctionName() {
	case operators.Index:
		r.add(e, present)
	case operators.Equals, operators.NotEquals:
		for _, arg := range args {
			at, _ := r.place(arg)
			for i := range r.found {
				r.found[i].Compared = r.found[i].Compared || r.found[i].Path == at.path
			}
		}
	}
}

// comprehension reads a macro such as all and map, whose variable is an item of a list or a key of a map.
func (r *reader) comprehension(c ast.ComprehensionExpr, present []string) {
	r.read(c.IterRange(), present)
	outer, shadowed := r.variables[c.IterVar()]
	r.variables[c.IterVar()] = place{}
	if at, ok := r.place(c.IterRange()); ok && at.node != nil && at.node.Items != nil {
		r.variables[c.IterVar()] = place{path: at.path + "[*]", node: at.node.Items, present: true}
	}
	for _, part := range []ast.Expr{c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
		r.read(part, present)
	}
	delete(r.variables, c.IterVar())
	if shadowed {
		r.variables[c.IterVar()] = outer
	}
}

// add adds the field that an expression names.
func (r *reader) add(e ast.Expr, present []string) {
	at, ok := r.place(e)
	if !ok || at.node == nil {
		return
	}
	isTest := e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly()
	protected := isTest || at.present || slices.Contains(present, at.path)
	i := slices.IndexFunc(r.found, func(f Field) bool { return f.Path == at.path })
	if i < 0 {
		i = len(r.found)
		r.found = append(r.found, Field{Path: at.path, Schema: at.node, Protected: true})
	}
	f := &r.found[i]
	f.Protected, f.Read = f.Protected && protected, f.Read || !isTest
}

// place returns the value that an expression names. ok is false for other expressions.
func (r *reader) place(e ast.Expr) (at place, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		at, ok = r.variables[e.AsIdent()]
		return at, ok && at.path != ""
	case ast.SelectKind:
		if at, ok = r.place(e.AsSelect().Operand()); ok {
			return at.child(e.AsSelect().FieldName()), true
		}
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Index && call.Args()[1].Kind() == ast.LiteralKind {
			if key, isText := call.Args()[1].AsLiteral().Value().(string); isText {
				if at, ok = r.place(call.Args()[0]); ok {
					return at.child(key), true
				}
			}
		}
	}
	return place{}, false
}

// everPresent are the fields of the metadata that every stored object has. Only objects without a namespace lack the namespace.
var everPresent = []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation"}

// child returns a property of an object, or the value of a key of a map. A condition names a property as the rules of a definition do.
func (p place) child(name string) place {
	if p.node == nil {
		return place{path: p.path + "." + name}
	}
	if values := p.node.AdditionalProperties; values != nil {
		return place{path: p.path + "[" + strconv.Quote(name) + "]", node: values.Structural}
	}
	out := place{path: p.path + "." + name}
	if real, ok := apiservercel.Unescape(name); ok {
		name = real
	}
	property, ok := p.node.Properties[name]
	if !ok {
		return out
	}
	out.node = &property
	switch {
	case p.path == variable:
		out.present = name == "apiVersion" || name == "kind" || name == "metadata"
	case p.path == variable+".metadata":
		out.present = slices.Contains(everPresent, name)
	}
	isRequired := p.node.ValueValidation != nil && slices.Contains(p.node.ValueValidation.Required, name)
	out.present = out.present || (isRequired || property.Default.Object != nil) && !property.Nullable
	return out
}

// known returns the paths that exist if a boolean expression has a value.
func (r *reader) known(e ast.Expr, value bool) []string {
	switch e.Kind() {
	case ast.SelectKind:
		if s := e.AsSelect(); s.IsTestOnly() && value {
			if at, ok := r.place(s.Operand()); ok {
				return withAbove(at.child(s.FieldName()).path)
			}
		}
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch name := call.FunctionName(); {
		case name == operators.LogicalNot:
			return r.known(args[0], !value)
		case name == operators.LogicalAnd && value, name == operators.LogicalOr && !value:
			return slices.Concat(r.known(args[0], value), r.known(args[1], value))
		case name == operators.In && value && args[0].Kind() == ast.LiteralKind:
			key, isText := args[0].AsLiteral().Value().(string)
			if at, ok := r.place(args[1]); ok && isText && at.node != nil && at.node.AdditionalProperties != nil {
				return withAbove(at.child(key).path)
			}
		}
	}
	return nil
}

// withAbove returns a path and the paths of the values around it.
func withAbove(path string) []string {
	all := []string{path}
	for i := range path {
		if strings.IndexByte(".[", path[i]) >= 0 {
			all = append(all, path[:i])
		}
	}
	return all
}

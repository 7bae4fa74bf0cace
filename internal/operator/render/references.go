package render

import (
	"maps"
	"slices"
	"text/template/parse"
)

// References tells which parameters can change the output of a template.
type References struct {
	// Names are the parameters that the template names, sorted.
	Names []string
	// All is set if the template also uses .Params, or the whole data, in a way that can
	// show any parameter: in a loop, or as the argument of a function.
	All bool
}

// ReferencesIn returns the parameters that can change the output of a template. A
// parameter outside the result never changes it: where the analysis cannot decide, it
// sets All. The templates that the source defines count too, even if nothing calls them.
func ReferencesIn(name, source string) (References, error) {
	trees, err := Parse(name, source)
	if err != nil {
		return References{}, err
	}
	a := &analysis{trees: map[string]*parse.Tree{}, seen: map[execution]bool{}, reached: map[string]bool{}, names: map[string]bool{}}
	for _, tree := range trees {
		a.trees[tree.Name] = tree
	}
	a.template(execution{name, data})
	for _, tree := range trees {
		if !a.reached[tree.Name] {
			a.template(execution{tree.Name, data})
		}
	}
	return References{Names: slices.Sorted(maps.Keys(a.names)), All: a.all}, nil
}

// content is the part of the template's data that a value may contain.
type content int

const (
	// plain is a value that contains neither of the others. If it comes from a parameter,
	// the analysis has already recorded that parameter.
	plain content = iota
	// data is the whole data of the template, the dot at its start.
	data
	// params is the object .Params.
	params
)

// operand is a value of an expression. The analysis knows the text of a string literal.
type operand struct {
	content
	text    string
	literal bool
}

// execution is a template with the content of its dot.
type execution struct {
	name string
	dot  content
}

// analysis follows the data of a template through its syntax trees. It does not know which
// branch is taken or how often a loop runs, so it records the parameters of all branches.
type analysis struct {
	trees map[string]*parse.Tree
	// seen and reached are the executions that were analysed, and their templates.
	seen    map[execution]bool
	reached map[string]bool
	names   map[string]bool
	all     bool
}

// scope holds the dot and the variables of one execution of a template. The variables of
// enclosing blocks come first.
type scope struct {
	dot       content
	variables []variable
}

type variable struct {
	name string
	content
}

// template analyses a template with a dot, once.
func (a *analysis) template(e execution) {
	tree := a.trees[e.name]
	if a.seen[e] || tree == nil {
		return
	}
	a.seen[e], a.reached[e.name] = true, true
	a.list(tree.Root, &scope{dot: e.dot, variables: []variable{{"$", e.dot}}})
}

// list analyses the nodes of a block. Variables that the block declares end with it.
func (a *analysis) list(list *parse.ListNode, s *scope) {
	if list == nil {
		return
	}
	declared := len(s.variables)
	for _, node := range list.Nodes {
		a.node(node, s)
	}
	s.variables = s.variables[:declared]
}

// node analyses one node of a block.
func (a *analysis) node(node parse.Node, s *scope) {
	switch node := node.(type) {
	case *parse.TextNode, *parse.CommentNode, *parse.BreakNode, *parse.ContinueNode:
	case *parse.ActionNode:
		value := a.pipe(node.Pipe, s)
		if len(node.Pipe.Decl) == 0 {
			a.expose(value)
		}
	case *parse.IfNode:
		a.branch(&node.BranchNode, s, func(content) content { return s.dot })
	case *parse.WithNode:
		a.branch(&node.BranchNode, s, func(value content) content { return value })
	case *parse.RangeNode:
		a.branch(&node.BranchNode, s, func(value content) content {
			a.expose(operand{content: value})
			return plain
		})
	case *parse.TemplateNode:
		dot := plain
		if node.Pipe != nil {
			dot = a.pipe(node.Pipe, s).content
		}
		a.template(execution{node.Name, dot})
	default:
		a.all = true
	}
}

// branch analyses an if, with or range. The function body returns the dot of the body for
// the value of the condition. The condition itself exposes nothing: .Params has a key for
// every parameter, so whether it is empty does not depend on a value.
func (a *analysis) branch(branch *parse.BranchNode, s *scope, body func(content) content) {
	declared, dot := len(s.variables), s.dot
	value := a.pipe(branch.Pipe, s).content
	s.dot = body(value)
	if branch.NodeType == parse.NodeRange {
		// The variables of a range hold an index and an item, not the value itself.
		for i := declared; i < len(s.variables); i++ {
			s.variables[i].content = plain
		}
	}
	a.list(branch.List, s)
	s.dot = dot
	a.list(branch.ElseList, s)
	s.variables = s.variables[:declared]
}

// expose records all parameters if a value contains them all.
func (a *analysis) expose(value operand) { a.all = a.all || value.content != plain }

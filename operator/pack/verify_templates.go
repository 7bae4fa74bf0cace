package pack

import (
	"fmt"
	"maps"
	"slices"
	"text/template/parse"

	"holdfast.dev/holdfast/operator/render"
)

// templateFiles checks the syntax of the templates and the parameters they refer to.
func (v *verifier) templateFiles() {
	for _, name := range slices.Sorted(maps.Keys(v.Templates)) {
		path := templatesFolder + "/" + name
		if !v.templates[name] && v.Operator.NamespaceManifest != name {
			v.findings.warn(path, "no task uses this template")
		}
		refs, err := v.References(name)
		if err != nil {
			v.findings.fail(templatesFolder, err.Error())
			continue
		}
		v.dynamic = v.dynamic || refs.All
		for _, parameter := range refs.Names {
			v.used[parameter] = true
			if !v.defined(parameter) {
				v.findings.fail(path, fmt.Sprintf("there is no parameter %q", parameter))
			}
		}
	}
}

// References tells which parameters a template uses.
type References struct {
	// Names are the parameters that the template names, sorted.
	Names []string
	// All is set if the template also uses .Params as a whole, for example in a loop.
	All bool
}

// References returns the parameters that a template of the package uses.
func (p *Package) References(template string) (References, error) {
	trees, err := render.Parse(template, p.Templates[template])
	if err != nil {
		return References{}, err
	}
	refs := references{parameters: map[string]bool{}}
	for _, tree := range trees {
		refs.node(tree.Root)
	}
	return References{Names: slices.Sorted(maps.Keys(refs.parameters)), All: refs.dynamic}, nil
}

// references walks the syntax tree of a template and collects its parameters.
type references struct {
	parameters map[string]bool
	dynamic    bool
}

func (r *references) nodes(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		r.node(node)
	}
}

func (r *references) node(node parse.Node) {
	switch node := node.(type) {
	case *parse.ListNode:
		r.nodes(node)
	case *parse.ActionNode:
		r.pipe(node.Pipe)
	case *parse.IfNode:
		r.branch(&node.BranchNode)
	case *parse.RangeNode:
		r.branch(&node.BranchNode)
	case *parse.WithNode:
		r.branch(&node.BranchNode)
	case *parse.TemplateNode:
		r.pipe(node.Pipe)
	case *parse.PipeNode:
		r.pipe(node)
	case *parse.ChainNode:
		r.node(node.Node)
	case *parse.FieldNode:
		r.path(node.Ident)
	case *parse.VariableNode:
		// $ is the data of the template; the content of other variables is unknown.
		if node.Ident[0] == "$" {
			r.path(node.Ident[1:])
		}
	}
}

func (r *references) branch(branch *parse.BranchNode) {
	r.pipe(branch.Pipe)
	r.nodes(branch.List)
	r.nodes(branch.ElseList)
}

func (r *references) pipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	for _, command := range pipe.Cmds {
		args := command.Args
		// The forms index .Params "NAME" and get .Params "NAME".
		if name, isName := literal(args); isName {
			r.parameters[name] = true
			args = args[3:]
		}
		for _, arg := range args {
			r.node(arg)
		}
	}
}

// literal returns the NAME of index .Params "NAME" and get .Params "NAME", false for any
// other command.
func literal(args []parse.Node) (string, bool) {
	if len(args) < 3 {
		return "", false
	}
	function, isFunction := args[0].(*parse.IdentifierNode)
	name, isText := args[2].(*parse.StringNode)
	if !isFunction || !isText || function.Ident != "index" && function.Ident != "get" {
		return "", false
	}
	switch from := args[1].(type) {
	case *parse.FieldNode:
		return name.Text, slices.Equal(from.Ident, []string{"Params"})
	case *parse.VariableNode:
		return name.Text, slices.Equal(from.Ident, []string{"$", "Params"})
	}
	return "", false
}

// path adds the parameter of a path such as .Params.NAME.
func (r *references) path(names []string) {
	if len(names) == 0 || names[0] != "Params" {
		return
	}
	if len(names) == 1 {
		r.dynamic = true
		return
	}
	r.parameters[names[1]] = true
}

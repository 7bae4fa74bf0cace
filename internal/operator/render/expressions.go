package render

import "text/template/parse"

// pipe analyses a pipeline, with its assignments, and returns its value.
func (a *analysis) pipe(pipe *parse.PipeNode, s *scope) operand {
	var value operand
	for i, command := range pipe.Cmds {
		function, isFunction := command.Args[0].(*parse.IdentifierNode)
		operands := command.Args
		if isFunction {
			operands = operands[1:]
		}
		var args []operand
		for _, node := range operands {
			args = append(args, a.value(node, s))
		}
		if i > 0 {
			args = append(args, value)
		}
		switch {
		case isFunction:
			value = a.function(function.Ident, args)
		case len(args) == 1:
			value = args[0]
		default:
			value = a.function("", args)
		}
	}
	for _, declared := range pipe.Decl {
		a.assign(s, declared.Ident[0], value.content, assignment{isNew: !pipe.IsAssign})
	}
	return value
}

// assignment tells whether a pipeline declares a variable or assigns to an existing one.
type assignment struct{ isNew bool }

// assign sets a variable. A loop can use a variable before the assignment in the text, so a
// variable has one content; with two, everything counts as exposed.
func (a *analysis) assign(s *scope, name string, value content, how assignment) {
	if how.isNew {
		s.variables = append(s.variables, variable{name, value})
		return
	}
	if s.variable(name) != value {
		a.all = true
	}
}

// variable returns the content of a variable, the innermost one of a name.
func (s *scope) variable(name string) content {
	for i := len(s.variables) - 1; i >= 0; i-- {
		if s.variables[i].name == name {
			return s.variables[i].content
		}
	}
	return plain
}

// value analyses an operand of a command.
func (a *analysis) value(node parse.Node, s *scope) operand {
	switch node := node.(type) {
	case *parse.BoolNode, *parse.NilNode, *parse.NumberNode:
		return operand{}
	case *parse.StringNode:
		return operand{text: node.Text, literal: true}
	case *parse.DotNode:
		return operand{content: s.dot}
	case *parse.FieldNode:
		return a.fields(s.dot, node.Ident)
	case *parse.VariableNode:
		return a.fields(s.variable(node.Ident[0]), node.Ident[1:])
	case *parse.ChainNode:
		return a.fields(a.value(node.Node, s).content, node.Field)
	case *parse.PipeNode:
		return a.pipe(node, s)
	case *parse.IdentifierNode:
		// A function without arguments, as in (now).Year.
		return a.function(node.Ident, nil)
	}
	a.all = true
	return operand{}
}

// fields returns the value at a path of names below a value. The path .Params.NAME names a
// parameter even if the value is not the data of the template, as in a template that is called
// with another value: there it is most likely a mistake, which packages are checked for.
func (a *analysis) fields(from content, path []string) operand {
	if from == plain && len(path) > 1 && path[0] == "Params" {
		a.names[path[1]] = true
	}
	for _, name := range path {
		switch from {
		case data:
			from = plain
			if name == "Params" {
				from = params
			}
		case params:
			a.names[name] = true
			from = plain
		}
	}
	return operand{content: from}
}

// function analyses a call of a function. The functions that look up one key expose that
// key; every other function may use everything that its arguments contain.
func (a *analysis) function(name string, args []operand) operand {
	if keys, isLookup := lookedUp(name, args); isLookup {
		found := a.fields(args[0].content, keys)
		if name == "hasKey" {
			return operand{}
		}
		return found
	}
	for _, arg := range args {
		a.expose(arg)
	}
	return operand{}
}

// lookedUp returns the literal keys of index, get and hasKey; false for any other call.
func lookedUp(name string, args []operand) ([]string, bool) {
	if name != "index" && name != "get" && name != "hasKey" || len(args) < 2 {
		return nil, false
	}
	var keys []string
	for _, arg := range args[1:] {
		// Below one parameter, any key will do.
		if !arg.literal && (arg.content != plain || args[0].content == params && len(keys) == 0 ||
			args[0].content == data && len(keys) < 2) {
			return nil, false
		}
		keys = append(keys, arg.text)
	}
	return keys, true
}

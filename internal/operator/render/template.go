package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
)

// MaxOutput is the number of bytes that one template may produce.
const MaxOutput = 4 << 20

// Values is the data of a template.
type Values struct {
	Name, Namespace                           string
	OperatorName, OperatorVersion, AppVersion string
	PlanName, PhaseName, StepName             string
	// Params are the effective parameter values, by parameter name.
	Params map[string]any
	// Pipes are the names of the objects that Pipe tasks created, by key.
	Pipes map[string]string
}

// data returns the values as the map that templates access.
func (v Values) data() map[string]any {
	pipes := map[string]any{}
	for key, name := range v.Pipes {
		pipes[key] = name
	}
	params := v.Params
	if params == nil {
		params = map[string]any{}
	}
	return map[string]any{
		"Name": v.Name, "Namespace": v.Namespace,
		"OperatorName": v.OperatorName, "OperatorVersion": v.OperatorVersion, "AppVersion": v.AppVersion,
		"PlanName": v.PlanName, "PhaseName": v.PhaseName, "StepName": v.StepName,
		"Params": params, "Pipes": pipes,
	}
}

// Template renders one template with a budget of its own. The error names the template and the line.
func Template(ctx context.Context, name, source string, values Values) (string, error) {
	return new(Run).Template(ctx, name, source, values)
}

// Parse parses a template and returns its syntax trees, including those of the templates
// that it defines. The error describes what is wrong with the syntax.
func Parse(name, source string) ([]*parse.Tree, error) {
	parsed, err := parseWith(name, source, &budget{ctx: context.Background(), left: maxWork, run: new(Run)})
	if err != nil {
		return nil, err
	}
	var trees []*parse.Tree
	for _, part := range parsed.Templates() {
		trees = append(trees, part.Tree)
	}
	return trees, nil
}

// parseWith parses a template. Its functions spend from the budget.
func parseWith(name, source string, b *budget) (*template.Template, error) {
	parsed, err := template.New(name).Option("missingkey=error").Funcs(functions(b, source)).Parse(source)
	if err != nil {
		return nil, readable(name, err)
	}
	if parsed.Tree == nil {
		// An empty file, or one with definitions only, has no tree of its own. It renders
		// to an empty text.
		return parsed.Parse("{{/* */}}")
	}
	return parsed, nil
}

// readable returns the error with a message that begins with the name of the template.
func readable(name string, err error) error {
	message := strings.TrimPrefix(err.Error(), "template: ")
	if strings.HasPrefix(message, name+":") {
		return errors.New(message)
	}
	return errors.New(name + ": " + message)
}

// limitedWriter fails when more than MaxOutput bytes are written.
type limitedWriter struct{ bytes.Buffer }

// Write implements io.Writer.
func (w *limitedWriter) Write(text []byte) (int, error) {
	if w.Len()+len(text) > MaxOutput {
		return 0, errors.New("the output is larger than 4 MiB")
	}
	return w.Buffer.Write(text)
}

// deepCopy copies a value with all objects and lists in it. A nil list stays nil, because
// toYaml prints it as null.
func deepCopy(value any) any {
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for key, item := range value {
			object[key] = deepCopy(item)
		}
		return object
	case []any:
		if value == nil {
			return value
		}
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = deepCopy(item)
		}
		return list
	}
	return value
}

// meter adds calls to a template that spend its budget: a call of tickFunction at the
// start of the template and of every loop body, and printFunction around every value
// that is printed.
func meter(tree *parse.Tree) {
	if tree == nil || tree.Root == nil {
		return
	}
	meterList(tree, tree.Root)
	tick(tree, tree.Root)
}

// meterList adds the calls to a list of nodes and to everything nested in it.
func meterList(tree *parse.Tree, list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			if len(node.Pipe.Decl) == 0 {
				node.Pipe.Cmds = append(node.Pipe.Cmds, call(tree, printFunction, node.Pos))
			}
		case *parse.IfNode:
			meterBranch(tree, &node.BranchNode)
		case *parse.WithNode:
			meterBranch(tree, &node.BranchNode)
		case *parse.RangeNode:
			meterBranch(tree, &node.BranchNode)
			tick(tree, node.List)
		}
	}
}

func meterBranch(tree *parse.Tree, branch *parse.BranchNode) {
	meterList(tree, branch.List)
	meterList(tree, branch.ElseList)
}

// tick puts a call of tickFunction in front of a list.
func tick(tree *parse.Tree, list *parse.ListNode) {
	action := &parse.ActionNode{NodeType: parse.NodeAction, Pos: list.Pos, Pipe: &parse.PipeNode{
		NodeType: parse.NodePipe, Pos: list.Pos, Cmds: []*parse.CommandNode{call(tree, tickFunction, list.Pos)},
	}}
	list.Nodes = append([]parse.Node{action}, list.Nodes...)
}

// call returns a node that calls a function.
func call(tree *parse.Tree, function string, pos parse.Pos) *parse.CommandNode {
	name := parse.NewIdentifier(function).SetTree(tree).SetPos(pos)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{name}}
}

// The names of the functions that meter adds calls to. A template cannot redefine them.
const (
	tickFunction  = "_tick"
	printFunction = "_print"
)

// printed returns the text that text/template prints for a value.
func printed(value any) string {
	switch value := value.(type) {
	case nil:
		return "<no value>"
	case string:
		return value
	}
	return fmt.Sprint(value)
}

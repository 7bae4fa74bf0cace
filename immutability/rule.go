package immutability

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"

	"holdfast.dev/holdfast/schema"
)

// rule is a CEL rule of a schema, parsed.
type rule struct {
	text string
	expr ast.Expr
}

// ruleReader parses the rules of nodes, each node once.
type ruleReader struct {
	parser *parser.Parser
	known  map[*schema.Schema][]rule
}

// newRuleReader makes a reader that leaves has(), all() and exists() as they are
// written: their expansions say the same in a form that is harder to read.
func newRuleReader() ruleReader {
	p, err := parser.NewParser(
		parser.Macros(),
		parser.EnableOptionalSyntax(true),
		parser.EnableIdentEscapeSyntax(true),
	)
	if err != nil {
		// The options are constant and valid; without a parser no rule is
		// understood, which is what this reader means.
		return ruleReader{}
	}
	return ruleReader{p, map[*schema.Schema][]rule{}}
}

// read parses the rules of s. One that does not parse is left out: definitions
// with such rules are refused elsewhere.
func (r ruleReader) read(s *schema.Schema) []rule {
	if r.parser == nil || len(s.Validations) == 0 {
		return nil
	}
	if rules, read := r.known[s]; read {
		return rules
	}
	var rules []rule
	for _, v := range s.Validations {
		if v == nil {
			continue
		}
		parsed, errs := r.parser.Parse(common.NewTextSource(v.Rule))
		if errs != nil && len(errs.GetErrors()) > 0 || parsed == nil {
			continue
		}
		rules = append(rules, rule{strings.TrimSpace(v.Rule), parsed.Expr()})
	}
	r.known[s] = rules
	return rules
}

// refuses says whether the rule refuses a write in which s happens, whatever
// else is in it.
func (r rule) refuses(s scenario) bool {
	return evaluation{scenario: s}.truth(r.expr)&yes == 0
}

// promise is what a rule keeps: a path below the node it stands on, or the
// values of the map there.
type promise struct {
	path   []string
	values bool
	marker Marker
}

// promises are the fields, keys and values that the rule does not let change.
func (r rule) promises() []promise {
	m := mentions{}
	m.collect(r.expr)
	var found []promise
	for _, path := range m.fields {
		if r.refuses(scenario{event: changed, path: path}) {
			found = append(found, promise{path: path, marker: Immutable})
		}
	}
	for _, path := range m.containers {
		if slices.ContainsFunc(found, func(p promise) bool { return slices.Equal(p.path, path) }) {
			continue
		}
		keepsOld := r.refuses(scenario{event: itemRemoved, path: path})
		keepsOut := r.refuses(scenario{event: itemAdded, path: path})
		switch {
		case keepsOld && keepsOut:
			found = append(found, promise{path: path, marker: ImmutableKeys})
		case keepsOld:
			found = append(found, promise{path: path, marker: AdditionOnly})
		case keepsOut:
			found = append(found, promise{path: path, marker: DeletionOnly})
		}
		if r.refuses(scenario{event: itemChanged, path: path}) {
			found = append(found, promise{path: path, values: true, marker: Immutable})
		}
	}
	return found
}

// mentions are the paths that a rule compares between self and oldSelf, and
// those of the maps and lists it looks into.
type mentions struct{ fields, containers [][]string }

func (m *mentions) collect(e ast.Expr) {
	if e.Kind() == ast.SelectKind {
		m.collect(e.AsSelect().Operand())
		return
	}
	if e.Kind() != ast.CallKind {
		return
	}
	call := e.AsCall()
	operands := operandsOf(call)
	for _, operand := range operands {
		m.collect(operand)
		if r, ok := refOf(operand); ok && isContainerCall(call.FunctionName()) && r.root != "" {
			m.containers = addPath(m.containers, r.path)
		}
	}
	if isEquality(call.FunctionName()) && len(operands) == 2 {
		a, isRef := refOf(operands[0])
		b, areRefs := refOf(operands[1])
		if isRef && areRefs && a.faces(b) {
			m.fields = addPath(m.fields, a.path)
		}
	}
}

func addPath(paths [][]string, path []string) [][]string {
	if slices.ContainsFunc(paths, func(p []string) bool { return slices.Equal(p, path) }) {
		return paths
	}
	return append(paths, path)
}

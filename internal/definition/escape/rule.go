package escape

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/logic"
	"holdfast.dev/holdfast/schema"
)

// rule is a parsed CEL rule of a schema.
type rule struct {
	text string
	expr ast.Expr
}

// ruleReader has the parsed rules of nodes by their texts. A text that does not parse has no expression.
type ruleReader map[string]rule

// read parses the rules of s. Rules that do not parse are left out: the validation
// of definitions refuses them.
func (r ruleReader) read(s *schema.Schema) []rule {
	var rules []rule
	for _, v := range s.Validations {
		if v == nil {
			continue
		}
		parsed, isKnown := r[v.Rule]
		if !isKnown {
			parsed = rule{strings.TrimSpace(v.Rule), logic.Parse(v.Rule)}
			r[v.Rule] = parsed
		}
		if parsed.expr != nil {
			rules = append(rules, parsed)
		}
	}
	return rules
}

// refuses reports whether the rule refuses every write in which s happens.
func (r rule) refuses(s scenario) bool {
	return evaluation{scenario: s}.truth(r.expr)&logic.Yes == 0
}

// promise is a field that a rule protects: a path below the node of the rule, or
// the values of the map at that path.
type promise struct {
	path   []string
	values bool
	marker immutability.Marker
}

// promises returns the fields, keys and values that the rule protects.
func (r rule) promises() []promise {
	m := mentions{}
	m.collect(r.expr)
	var found []promise
	for _, path := range m.fields {
		if r.refuses(scenario{event: changed, path: path}) {
			found = append(found, promise{path: path, marker: immutability.Immutable})
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
			found = append(found, promise{path: path, marker: immutability.ImmutableKeys})
		case keepsOld:
			found = append(found, promise{path: path, marker: immutability.AdditionOnly})
		case keepsOut:
			found = append(found, promise{path: path, marker: immutability.DeletionOnly})
		}
		if r.refuses(scenario{event: itemChanged, path: path}) {
			found = append(found, promise{path: path, values: true, marker: immutability.Immutable})
		}
	}
	return found
}

// mentions are the paths that a rule compares between self and oldSelf, and the
// paths of the maps and lists of which it reads the items.
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
		if isRef && areRefs && a.isCounterpartOf(b) {
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

package logic

import (
	"strings"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// newParser returns a parser that does not expand the macros has(), all() and exists(): the calls are easier to recognize than their
// expansions.
var newParser = sync.OnceValues(func() (*parser.Parser, error) {
	return parser.NewParser(parser.Macros(), parser.EnableOptionalSyntax(true), parser.EnableIdentEscapeSyntax(true))
})

// Parse parses a rule. It returns nil for a text that is no expression: the validation of definitions refuses such a rule.
func Parse(rule string) ast.Expr {
	p, err := newParser()
	if err != nil {
		return nil
	}
	parsed, errs := p.Parse(common.NewTextSource(rule))
	if errs != nil && len(errs.GetErrors()) > 0 || parsed == nil {
		return nil
	}
	return parsed.Expr()
}

// Text returns the text of a string literal.
func Text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// Unescape returns the property name of a name in a rule. Kubernetes escapes names that are not valid in CEL.
func Unescape(name string) string {
	if !strings.Contains(name, "__") {
		return name
	}
	replaced := strings.NewReplacer("__underscores__", "__", "__dot__", ".", "__dash__", "-", "__slash__", "/").Replace(name)
	if replaced != name {
		return replaced
	}
	if inner, found := strings.CutPrefix(name, "__"); found && strings.HasSuffix(inner, "__") {
		return strings.TrimSuffix(inner, "__")
	}
	return name
}

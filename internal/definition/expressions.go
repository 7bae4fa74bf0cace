package definition

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/schema"
)

const (
	// maxExpression is the size of the largest regular expression in a schema, in steps of its program. A step takes about 40
	// bytes, and an expression of 7 bytes such as x{1000} has a thousand: Go alone allows programs of 128 MB.
	maxExpression = 20_000
	// maxExpressions is the size of all regular expressions of a definition. To compile these takes about a second.
	maxExpressions = 100_000
)

// validateExpressions returns an error for each regular expression that is too large, and one if all of them are, of the schemas that
// the write changes. It compiles nothing.
func (w Write) validateExpressions(crd *CustomResourceDefinition, versions []readVersion) field.ErrorList {
	var errs field.ErrorList
	total := 0
	for _, r := range versions {
		if r.schema == nil || !w.changesSchema(crd, r.index) {
			continue
		}
		var found schema.Errors
		schema.Walk(r.schema, func(v *schema.Visit) bool {
			for _, source := range expressionsOf(v) {
				size := sizeOfExpression(source)
				total += size
				if size > maxExpression {
					found = append(found, &schema.Error{Path: v.Path, Detail: fmt.Sprintf(
						"has a regular expression of %d steps, and at most %d are allowed: use fewer or smaller repetitions", size, maxExpression)})
				}
			}
			return true
		})
		errs = append(errs, forbidden(schemaPath(r.index), found)...)
	}
	if len(errs) == 0 && total > maxExpressions {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "versions"), fmt.Sprintf(
			"the regular expressions of the schemas have %d steps, and at most %d are allowed: use fewer or smaller repetitions", total, maxExpressions)))
	}
	sortErrors(errs)
	return errs
}

// expressionsOf returns the regular expressions of one node of a schema: its pattern, the pattern of its name, and the constants in
// its CEL rules.
func expressionsOf(v *schema.Visit) []string {
	var found []string
	if v.Schema.Pattern != "" {
		found = append(found, v.Schema.Pattern)
	}
	if v.Edge == schema.PatternProperty {
		found = append(found, v.Name)
	}
	for _, rule := range v.Schema.Validations {
		found = append(found, expressionsOfRule(rule.Rule)...)
		found = append(found, expressionsOfRule(rule.MessageExpression)...)
	}
	return found
}

// expressionsOfRule returns the constants in a CEL expression that are regular expressions. An expression that cannot be parsed has
// none: upstream's rules report it.
func expressionsOfRule(rule string) []string {
	// Most rules have no regular expression, and need not be parsed.
	if !slices.ContainsFunc(withExpression, func(function string) bool { return strings.Contains(rule, function) }) {
		return nil
	}
	rules, err := parser.NewParser(parser.Macros(), parser.EnableOptionalSyntax(true), parser.EnableIdentEscapeSyntax(true))
	if err != nil {
		return nil
	}
	parsed, errs := rules.Parse(common.NewTextSource(rule))
	if parsed == nil || errs != nil && len(errs.GetErrors()) > 0 {
		return nil
	}
	var found []string
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !slices.Contains(withExpression, e.AsCall().FunctionName()) {
			return
		}
		for _, argument := range e.AsCall().Args() {
			if argument.Kind() != ast.LiteralKind {
				continue
			}
			if text, ok := argument.AsLiteral().(types.String); ok {
				found = append(found, string(text))
			}
		}
	}))
	return found
}

// withExpression are the functions of CEL that take a regular expression.
var withExpression = []string{"matches", "find", "findAll"}

// sizeOfExpression returns the number of steps of a regular expression, about as Go compiles it. One that is invalid has none: other
// rules report it.
func sizeOfExpression(source string) int {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return 0
	}
	return steps(parsed)
}

func steps(e *syntax.Regexp) int {
	inner := 0
	for _, sub := range e.Sub {
		inner += steps(sub)
	}
	switch e.Op {
	case syntax.OpLiteral:
		return len(e.Rune)
	case syntax.OpConcat:
		return inner
	case syntax.OpAlternate:
		return inner + len(e.Sub)
	case syntax.OpRepeat:
		// A copy of the inner expression for each repetition, and a branch for each that may be left out.
		if e.Max < 0 {
			return inner*max(e.Min, 1) + 2
		}
		return inner*e.Max + e.Max - e.Min
	}
	return inner + 2
}

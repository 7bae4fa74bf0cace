package stock

import (
	"slices"
	"strings"
)

// The precedences of CEL's operators, from the lowest on.
const (
	ternary = iota
	disjunction
	conjunction
	comparison
	primary
)

// operators are the binary operators that this package writes.
var operators = []struct {
	text       string
	precedence int
}{
	{" ? ", ternary},
	{" || ", disjunction},
	{" && ", conjunction},
	{" == ", comparison},
	{" != ", comparison},
	{" >= ", comparison},
	{" in ", comparison},
}

// precedence returns the lowest precedence of the operators of an expression that are not in
// parentheses or brackets.
func precedence(expression string) int {
	lowest, depth, quoted := primary, 0, false
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ' ' && depth == 0:
			for _, o := range operators {
				if strings.HasPrefix(expression[i:], o.text) {
					lowest = min(lowest, o.precedence)
				}
			}
		}
	}
	return lowest
}

// group puts an expression into parentheses if its precedence is lower than that of the operator
// around it.
func group(expression string, around int) string {
	if precedence(expression) < around {
		return "(" + expression + ")"
	}
	return expression
}

// and joins expressions. It leaves out empty ones, and those that are always true.
func and(all ...string) string {
	all = slices.DeleteFunc(all, func(e string) bool { return e == "" || e == "true" })
	if len(all) == 0 {
		return "true"
	}
	for i := range all {
		if len(all) > 1 {
			all[i] = group(all[i], conjunction)
		}
	}
	return strings.Join(all, " && ")
}

// or joins expressions. It leaves out those that are always false.
func or(all ...string) string {
	if slices.Contains(all, "true") {
		return "true"
	}
	all = slices.DeleteFunc(all, func(e string) bool { return e == "false" })
	if len(all) == 0 {
		return "false"
	}
	for i := range all {
		if len(all) > 1 {
			all[i] = group(all[i], disjunction)
		}
	}
	return strings.Join(all, " || ")
}

// not negates an expression.
func not(expression string) string {
	if expression == "true" {
		return "false"
	}
	return "!" + group(expression, primary)
}

// relation returns an expression as an operand of ==.
func relation(expression string) string { return group(expression, primary) }

package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFrozenFields reads the source of all rules: a rule that refuses to change a field uses the methods immutable or unchangeable of a
// report. The server counts the errors of these methods as refusals of a protection.
func TestFrozenFields(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	frozen := regexp.MustCompile(`\bmutable\b|is immutable|(may not|cannot) be (added or )?(changed|removed|renamed)`)
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"invalid", "forbidden", "Invalid", "Forbidden", "unchangeable"}, method.Sel.Name) {
				return true
			}
			for _, text := range literals(call) {
				switch {
				case !frozen.MatchString(text):
				case method.Sel.Name == "unchangeable" || strings.HasPrefix(name, "report"):
					found++
				default:
					t.Errorf("%s: %s refuses to change a field: use immutable or unchangeable", set.Position(call.Pos()), text)
				}
			}
			return true
		})
	}
	if found < 10 {
		t.Errorf("%d rules refuse to change a field; the test does not find them", found)
	}
}

// literals returns the strings in the arguments of a call.
func literals(call *ast.CallExpr) []string {
	var texts []string
	for _, argument := range call.Args {
		ast.Inspect(argument, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				texts = append(texts, literal.Value)
			}
			return true
		})
	}
	return texts
}

//go:build !failpoints

package cli_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The program has no failpoint: not even their names are in it. They have a colon, so that no function of Go has such a name. The program of
// the tests has all commands.
func TestNoFailpoints(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	names := failpoints(t)
	if len(names) < 30 {
		t.Fatalf("the sources have %d failpoints: the test does not find them any more", len(names))
	}
	for _, name := range names {
		if bytes.Contains(program, []byte(name)) {
			t.Errorf("the program has the failpoint %s", name)
		}
	}
}

// failpoints returns the names in all calls of package failpoint.
func failpoints(t *testing.T) []string {
	t.Helper()
	var names []string
	tree := os.DirFS("..")
	err := fs.WalkDir(tree, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(tree, file)
		if err != nil || !bytes.Contains(source, []byte("failpoint.")) {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			function, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if name, ok := function.X.(*ast.Ident); !ok || name.Name != "failpoint" {
				return true
			}
			text, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			names = append(names, text)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Package sources finds the failpoints in the source code, for tests.
//
//	points, err := sources.Find("../../internal")
package sources

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Point is a failpoint in the source code. See package failpoint.
type Point struct {
	Name string
	// Function is the function of package failpoint that is called there.
	Function string
}

// Find returns the failpoints below a folder, in the order of the files. A name that is used twice is there once.
func Find(folder string) ([]Point, error) {
	var points []Point
	found, tree := map[string]bool{}, os.DirFS(folder)
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
			point, ok := pointOf(node)
			if ok && !found[point.Name] {
				found[point.Name] = true
				points = append(points, point)
			}
			return true
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find failpoints in %s: %w", folder, err)
	}
	return points, nil
}

// pointOf returns the failpoint of a call of package failpoint. Its first argument is a constant text.
func pointOf(node ast.Node) (Point, bool) {
	call, ok := node.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return Point{}, false
	}
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return Point{}, false
	}
	name, ok := function.X.(*ast.Ident)
	if !ok || name.Name != "failpoint" {
		return Point{}, false
	}
	argument, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return Point{}, false
	}
	text, err := strconv.Unquote(argument.Value)
	return Point{Name: text, Function: function.Sel.Name}, err == nil
}

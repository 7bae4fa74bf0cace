package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// constant is a constant of the source.
type constant struct {
	// folder is the folder of its package.
	folder, name, value string
	// kind is the name of its type, if it has one.
	kind string
	// doc is its comment, or that of the group that it is in.
	doc string
}

// source is what the pages need from the source of the tree.
type source struct {
	constants []constant
	// metrics are the metrics, with their help as the comment.
	metrics []constant
	// reasons are the texts in fields named Reason.
	reasons []constant
	// errors are the functions that make errors of the API, such as NewBadRequest.
	errors []constant
}

// left are the folders without code of the program.
var left = []string{"test", "bench", "tools", "examples", "bin", "internal/cli/reference"}

// read reads the source below the root of a tree, without tests and generated files.
func read(tree fs.FS) (*source, error) {
	var s source
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains(left, file) || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && file != "."):
			return fs.SkipDir
		case path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(entry.Name(), "zz_"):
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.add(path.Dir(file), parsed)
		return nil
	})
	return &s, err
}

// add adds what a file has.
func (s *source) add(folder string, file *ast.File) {
	known := map[string]string{}
	for _, declared := range file.Decls {
		if group, ok := declared.(*ast.GenDecl); ok && group.Tok == token.CONST {
			for _, spec := range group.Specs {
				s.addConstants(folder, group, spec.(*ast.ValueSpec), known)
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CompositeLit:
			s.addFields(folder, node)
		case *ast.CallExpr:
			s.addCall(folder, node)
		}
		return true
	})
}

// addConstants adds the constants of one line. known has the values of the constants above it.
func (s *source) addConstants(folder string, group *ast.GenDecl, spec *ast.ValueSpec, known map[string]string) {
	doc := spec.Doc
	if doc == nil {
		doc = spec.Comment
	}
	if doc == nil {
		doc = group.Doc
	}
	kind := ""
	switch named := spec.Type.(type) {
	case *ast.Ident:
		kind = named.Name
	case *ast.SelectorExpr:
		kind = named.Sel.Name
	}
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			return
		}
		if text, ok := evaluate(spec.Values[i], known); ok {
			known[name.Name] = text
			s.constants = append(s.constants, constant{folder, name.Name, text, kind, describe(doc.Text(), name.Name)})
		}
	}
}

// evaluate returns the value of a literal, a known constant, or a sum of them.
func evaluate(expr ast.Expr, known map[string]string) (string, bool) {
	switch expr := expr.(type) {
	case *ast.BasicLit:
		if expr.Kind == token.INT {
			return expr.Value, true
		}
		text, err := strconv.Unquote(expr.Value)
		return text, err == nil && expr.Kind == token.STRING
	case *ast.Ident:
		text, ok := known[expr.Name]
		return text, ok
	case *ast.BinaryExpr:
		left, ok := evaluate(expr.X, known)
		right, also := evaluate(expr.Y, known)
		return left + right, ok && also && expr.Op == token.ADD
	}
	return "", false
}

// addFields adds the metric or the reason in a composite literal.
func (s *source) addFields(folder string, literal *ast.CompositeLit) {
	fields := map[string]string{}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok {
				fields[key.Name], _ = evaluate(pair.Value, nil)
			}
		}
	}
	if strings.HasPrefix(fields["Name"], metricPrefix) {
		s.metrics = append(s.metrics, constant{folder: folder, value: fields["Name"], doc: fields["Help"]})
	}
	if reasonText.MatchString(fields["Reason"]) {
		s.reasons = append(s.reasons, constant{folder: folder, value: fields["Reason"]})
	}
}

// addCall adds the metric that a call describes, or the error of the API that it makes.
func (s *source) addCall(folder string, call *ast.CallExpr) {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if from, ok := function.X.(*ast.Ident); ok && from.Name == "apierrors" && strings.HasPrefix(function.Sel.Name, "New") {
		s.errors = append(s.errors, constant{folder: folder, value: function.Sel.Name})
	}
	if function.Sel.Name == "NewDesc" && len(call.Args) > 1 {
		name, _ := evaluate(call.Args[0], nil)
		help, _ := evaluate(call.Args[1], nil)
		s.metrics = append(s.metrics, constant{folder: folder, value: name, doc: help})
	}
}

// goReference points a reader of the code to another name in it.
var goReference = regexp.MustCompile(`: see (package )?[A-Za-z/]+`)

// describe returns the first paragraph of a comment as the description of a name: without the
// name in front.
func describe(doc, name string) string {
	text, _, _ := strings.Cut(doc, "\n\n")
	text = goReference.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
	for _, start := range []string{name + " is ", name + ", ", name + " "} {
		if rest, ok := strings.CutPrefix(text, start); ok {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return text
}

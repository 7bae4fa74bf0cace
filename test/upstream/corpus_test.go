package upstream_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// manifest is an object as maps and lists.
type manifest = map[string]any

// folders are the parts of the repository whose tests and files have manifests of built-in
// kinds.
var folders = []string{
	"internal/native", "internal/apiserver/builtin", "internal/apiserver/serviceip", "examples", "dist", "bench/kubectl/files",
}

// readCorpus returns the manifests in folders of the repository by apiVersion and kind: the YAML
// files, and the strings of tests.
func readCorpus(t *testing.T, folders ...string) map[string][]manifest {
	t.Helper()
	corpus := map[string][]manifest{}
	add := func(text string) {
		for _, document := range strings.Split(text, "\n---\n") {
			if !strings.Contains(document, "kind:") {
				continue
			}
			var object manifest
			// Some strings are parts of manifests or templates.
			if yaml.Unmarshal([]byte(document), &object) != nil {
				continue
			}
			version, _ := object["apiVersion"].(string)
			kind, _ := object["kind"].(string)
			if version != "" && kind != "" {
				corpus[version+" "+kind] = append(corpus[version+" "+kind], object)
			}
		}
	}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil || entry.IsDir():
				return err
			case strings.HasSuffix(path, ".yaml"):
				text, err := os.ReadFile(path)
				add(string(text))
				return err
			case strings.HasSuffix(path, "_test.go"):
				return eachString(path, add)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("read manifests: %v", err)
		}
	}
	return corpus
}

// eachString calls use for each string constant of a Go file.
func eachString(path string, use func(string)) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				use(text)
			}
		}
		return true
	})
	return nil
}

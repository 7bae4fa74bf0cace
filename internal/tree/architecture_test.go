package tree_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "holdfast.dev/holdfast"

// engineLibraries are the packages outside the standard library that an engine
// may import, each with those below it.
var engineLibraries = []string{
	"k8s.io/apimachinery/pkg/api",
	"k8s.io/apimachinery/pkg/apis/meta",
	"k8s.io/apimachinery/pkg/runtime/schema",
	"k8s.io/apimachinery/pkg/types",
	"k8s.io/apimachinery/pkg/util/intstr",
	"k8s.io/apimachinery/pkg/util/json",
	"k8s.io/apimachinery/pkg/util/sets",
	"k8s.io/apimachinery/pkg/util/validation",
	"k8s.io/apimachinery/pkg/util/version",
	"k8s.io/kube-openapi/pkg/validation",
	"sigs.k8s.io/json",
	"sigs.k8s.io/structured-merge-diff/v6",
	"sigs.k8s.io/yaml",
}

// worldly are the packages of the standard library that reach outside the
// process or give another answer each time, each with those below it; pure are
// the exceptions among them.
var (
	worldly = []string{
		"crypto/rand", "expvar", "io/ioutil", "log", "math/rand", "net", "os", "path/filepath", "plugin", "runtime", "syscall",
	}
	pure = []string{"net/netip", "net/url"}
)

// clock are the functions of package time that read it.
var clock = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

func TestArchitecture(t *testing.T) {
	tree := os.DirFS(root)
	found, err := violations(tree, readMap(t, tree))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range found {
		t.Error(violation)
	}
}

// violations names everything in the Go files of a tree that breaks a rule, in
// the order of the files. Tests are free to import what they need.
func violations(tree fs.FS, packages packageMap) ([]string, error) {
	var found []string
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(file)
		if entry.IsDir() {
			if file != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		broken, err := judge(tree, packages, goFile{file, source})
		found = append(found, broken...)
		return err
	})
	return found, err
}

// goFile is a Go file with its path in the tree.
type goFile struct {
	path   string
	source []byte
}

// judge names what is wrong with one file.
func judge(tree fs.FS, packages packageMap, file goFile) ([]string, error) {
	folder := path.Dir(file.path)
	own, err := ownModule(tree, folder)
	if err != nil {
		return nil, err
	}
	if folder != "." && own == "" && !slices.Contains(packages.all, folder) {
		return []string{fmt.Sprintf("%s: package %s has no place in the map of ARCHITECTURE.md", file.path, folder)}, nil
	}
	engine := slices.Contains(packages.engines, folder)
	mode := parser.ImportsOnly
	if engine {
		mode = parser.SkipObjectResolution
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file.path, file.source, mode)
	if err != nil {
		return nil, err
	}
	var broken []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		rule := ""
		switch {
		case within(imported, module+"/test"):
			if !within(own, "test") {
				rule = "only tests import the test module"
			}
		case own != "":
		case within(imported, module):
			rule = packages.forbids(folder, strings.TrimPrefix(strings.TrimPrefix(imported, module), "/"))
		case engine:
			rule = impure(imported)
		}
		if rule != "" {
			broken = append(broken, fmt.Sprintf("%s: imports %s: %s", file.path, imported, rule))
		}
	}
	if engine {
		for _, act := range acts(parsed) {
			broken = append(broken, fmt.Sprintf("%s: %s", file.path, act))
		}
	}
	return broken, nil
}

// ownModule returns the folder of the module of a package, "" for the root module.
func ownModule(tree fs.FS, folder string) (string, error) {
	for ; folder != "."; folder = path.Dir(folder) {
		_, err := fs.Stat(tree, path.Join(folder, "go.mod"))
		if err == nil {
			return folder, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// impure says why an engine may not import a package of others, or "".
func impure(imported string) string {
	below := func(parent string) bool { return within(imported, parent) }
	host, _, _ := strings.Cut(imported, "/")
	switch {
	case strings.Contains(host, "."):
		if !slices.ContainsFunc(engineLibraries, below) {
			return "not among the libraries an engine may use (engineLibraries in architecture_test.go)"
		}
	case slices.ContainsFunc(worldly, below) && !slices.ContainsFunc(pure, below):
		return "an engine has no disk, network, log or chance"
	}
	return ""
}

// acts names what the code of an engine does that no import line shows.
func acts(file *ast.File) []string {
	timeName := ""
	for _, spec := range file.Imports {
		if spec.Path.Value == `"time"` {
			timeName = "time"
			if spec.Name != nil {
				timeName = spec.Name.Name
			}
		}
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, "starts a goroutine: an engine has none")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == timeName && slices.Contains(clock, n.Sel.Name) {
				found = append(found, fmt.Sprintf("calls time.%s: an engine has no clock", n.Sel.Name))
			}
		}
		return true
	})
	return found
}

// within reports whether an import path is a package or one below it.
func within(imported, parent string) bool {
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}

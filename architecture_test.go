package holdfast_test

import (
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
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const module = "holdfast.dev/holdfast"

// order lists the packages of the module; each imports only those above it. A
// package below another counts as its parent.
var order = []string{
	"value", "nesting", "schema", "skeleton", "immutability", "ownership", "parameters",
	"manifest", "finding", "definition", "native", "projection", "broadcast", "connection", "reconcile",
	"operator", "access", "node", "lifecycle", "manager",
	"apiserver", "cli",
	"cmd", "examples",
}

// serverOrder lists the packages below apiserver, and apiserver itself as "."; each
// imports only those above it. A package below another counts as its parent.
var serverOrder = []string{
	"etcd", "advertise", "requestbody", "storage", "disclosure", "fieldownership", "update", "subresource", "selection", "serviceip", "fairness",
	"builtin", "definitions", "custom", ".", "servertest",
}

// engines are the packages that take values and give answers.
var engines = order[:7]

// engineLibraries are the packages outside the standard library that an engine
// may import, each with those below it.
var engineLibraries = []string{
	"github.com/google/cel-go/common",
	"github.com/google/cel-go/parser",
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
	found, err := violations(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range found {
		t.Error(violation)
	}
}

func TestArchitectureRules(t *testing.T) {
	tests := map[string]struct {
		file, source string
		want         []string
	}{
		"engine on what it may use": {
			file:   "immutability/check.go",
			source: `import ("net/url"; "time"; "sigs.k8s.io/yaml"; "holdfast.dev/holdfast/schema"); var d time.Duration`,
		},
		"engine on the disk": {
			file:   "schema/load.go",
			source: `import "os"`,
			want:   []string{`schema/load.go: imports os: an engine has no disk, network, log or chance`},
		},
		"engine on the network": {
			file:   "skeleton/deep/get.go",
			source: `import "net/http"`,
			want:   []string{`skeleton/deep/get.go: imports net/http: an engine has no disk, network, log or chance`},
		},
		"engine on the server library": {
			file:   "ownership/owner.go",
			source: `import "k8s.io/apiserver/pkg/endpoints"`,
			want:   []string{`ownership/owner.go: imports k8s.io/apiserver/pkg/endpoints: not among the libraries an engine may use (engineLibraries in architecture_test.go)`},
		},
		"a library whose name only begins alike": {
			file:   "schema/schema.go",
			source: `import "sigs.k8s.io/yamlish"`,
			want:   []string{`schema/schema.go: imports sigs.k8s.io/yamlish: not among the libraries an engine may use (engineLibraries in architecture_test.go)`},
		},
		"engine on the clock": {
			file:   "parameters/update.go",
			source: `import clock "time"; var now = clock.Now()`,
			want:   []string{`parameters/update.go: calls time.Now: an engine has no clock`},
		},
		"engine with a goroutine": {
			file:   "schema/walk.go",
			source: `func walk() { go walk() }`,
			want:   []string{`schema/walk.go: starts a goroutine: an engine has none`},
		},
		"test of an engine": {
			file:   "schema/decode_test.go",
			source: `import ("os"; "time"; "holdfast.dev/holdfast/apiserver"); var now = time.Now()`,
		},
		"service on the disk": {
			file:   "access/token.go",
			source: `import ("os"; "holdfast.dev/holdfast/native")`,
		},
		"against the order": {
			file:   "skeleton/build.go",
			source: `import "holdfast.dev/holdfast/immutability"`,
			want:   []string{`skeleton/build.go: imports holdfast.dev/holdfast/immutability: skeleton comes before immutability, and a package imports only those before it`},
		},
		"against the order, generated and below": {
			file:   "native/openapi/zz_generated.go",
			source: `import "holdfast.dev/holdfast/apiserver/storage"`,
			want:   []string{`native/openapi/zz_generated.go: imports holdfast.dev/holdfast/apiserver/storage: native comes before apiserver, and a package imports only those before it`},
		},
		"within one part": {
			file:   "native/rules/rules.go",
			source: `import "holdfast.dev/holdfast/native/openapi"`,
		},
		"within the server": {
			file:   "apiserver/builtin/registry.go",
			source: `import ("holdfast.dev/holdfast/apiserver/storage"; "holdfast.dev/holdfast/native")`,
		},
		"within the server, one part": {
			file:   "apiserver/custom/codec.go",
			source: `import "holdfast.dev/holdfast/apiserver/custom/text"`,
		},
		"within the server, against the order": {
			file:   "apiserver/storage/options.go",
			source: `import "holdfast.dev/holdfast/apiserver/builtin"`,
			want: []string{`apiserver/storage/options.go: imports holdfast.dev/holdfast/apiserver/builtin: ` +
				`apiserver/storage comes before apiserver/builtin, and a package imports only those before it`},
		},
		"within the server, to its root": {
			file:   "apiserver/custom/server.go",
			source: `import "holdfast.dev/holdfast/apiserver"`,
			want: []string{`apiserver/custom/server.go: imports holdfast.dev/holdfast/apiserver: ` +
				`apiserver/custom comes before apiserver/., and a package imports only those before it`},
		},
		"within the server, a part without a place": {
			file:   "apiserver/builtin/registry.go",
			source: `import "holdfast.dev/holdfast/apiserver/things"`,
			want: []string{`apiserver/builtin/registry.go: imports holdfast.dev/holdfast/apiserver/things: ` +
				`a package has no place in the order of the server (serverOrder in architecture_test.go)`},
		},
		"a part without a place": {
			file:   "util/strings.go",
			source: `import "strings"`,
			want:   []string{`util/strings.go: package util has no place in the order of packages (order in architecture_test.go)`},
		},
		"import of a part without a place": {
			file:   "cli/root.go",
			source: `import "holdfast.dev/holdfast"`,
			want:   []string{`cli/root.go: imports holdfast.dev/holdfast: it has no place in the order of packages (order in architecture_test.go)`},
		},
		"import of the test module": {
			file:   "cmd/holdfast/main.go",
			source: `import "holdfast.dev/holdfast/test/kubectl"`,
			want:   []string{`cmd/holdfast/main.go: imports holdfast.dev/holdfast/test/kubectl: only tests import the test module`},
		},
		"a module of its own": {
			file:   "bench/main.go",
			source: `import "holdfast.dev/holdfast/cli"`,
		},
		"import of the test module from a module of its own": {
			file:   "bench/main.go",
			source: `import "holdfast.dev/holdfast/test"`,
			want:   []string{`bench/main.go: imports holdfast.dev/holdfast/test: only tests import the test module`},
		},
		"the test module": {
			file:   "test/kubectl/build.go",
			source: `import "holdfast.dev/holdfast/test"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{
				"go.mod":       {},
				"bench/go.mod": {},
				"test/go.mod":  {},
				test.file:      {Data: []byte("package p\n" + test.source)},
			}
			got, err := violations(tree)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// violations names everything in the Go files of a tree that breaks a rule, in
// the order of the files. Tests are free to import what they need.
func violations(tree fs.FS) ([]string, error) {
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
		broken, err := judge(tree, file, source)
		found = append(found, broken...)
		return err
	})
	return found, err
}

// judge names what is wrong with one file.
func judge(tree fs.FS, file string, source []byte) ([]string, error) {
	part, _, nested := strings.Cut(file, "/")
	if !nested {
		part = ""
	}
	engine := slices.Contains(engines, part)
	mode := parser.ImportsOnly
	if engine {
		mode = parser.SkipObjectResolution
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, mode)
	if err != nil {
		return nil, err
	}

	_, err = fs.Stat(tree, path.Join(part, "go.mod"))
	ownModule := nested && err == nil
	if nested && !ownModule && !slices.Contains(order, part) {
		return []string{fmt.Sprintf("%s: package %s has no place in the order of packages (order in architecture_test.go)", file, part)}, nil
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
			if part != "test" {
				rule = "only tests import the test module"
			}
		case ownModule:
		case within(imported, module):
			if rule = againstOrder(part, imported); rule == "" && part == "apiserver" {
				rule = againstServerOrder(file, imported)
			}
		case engine:
			rule = impure(imported)
		}
		if rule != "" {
			broken = append(broken, fmt.Sprintf("%s: imports %s: %s", file, imported, rule))
		}
	}
	if engine {
		for _, act := range acts(parsed) {
			broken = append(broken, fmt.Sprintf("%s: %s", file, act))
		}
	}
	return broken, nil
}

// againstOrder says why a part may not import a package of this module, or "".
func againstOrder(part, imported string) string {
	target, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(imported, module), "/"), "/")
	from, to := slices.Index(order, part), slices.Index(order, target)
	switch {
	case to < 0:
		return "it has no place in the order of packages (order in architecture_test.go)"
	case from < to:
		return fmt.Sprintf("%s comes before %s, and a package imports only those before it", part, target)
	}
	return ""
}

// againstServerOrder says why a file of the server may not import a package of this
// module, or "".
func againstServerOrder(file, imported string) string {
	if !within(imported, module+"/apiserver") {
		return ""
	}
	part, target := serverPart(path.Dir(file)), serverPart(strings.TrimPrefix(imported, module+"/"))
	from, to := slices.Index(serverOrder, part), slices.Index(serverOrder, target)
	switch {
	case from < 0 || to < 0:
		return "a package has no place in the order of the server (serverOrder in architecture_test.go)"
	case from < to:
		return fmt.Sprintf("apiserver/%s comes before apiserver/%s, and a package imports only those before it", part, target)
	}
	return ""
}

// serverPart returns the entry of serverOrder for a folder of the server.
func serverPart(folder string) string {
	below, ok := strings.CutPrefix(folder, "apiserver/")
	if !ok {
		return "."
	}
	part, _, _ := strings.Cut(below, "/")
	return part
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

package tree_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestArchitectureRules(t *testing.T) {
	const page = "```text\n# Engines\nvalue\nschema\n# The rest\ninternal/\n  access\n  apiserver/\n    storage\n    .\n  cli\n```\n"
	tests := map[string]struct {
		file, source string
		want         []string
	}{
		"engine on what it may use": {
			file:   "schema/check.go",
			source: `import ("net/url"; "time"; "sigs.k8s.io/yaml"; "holdfast.dev/holdfast/value"); var d time.Duration`,
		},
		"engine on the disk": {
			file:   "schema/load.go",
			source: `import "os"`,
			want:   []string{`schema/load.go: imports os: an engine has no disk, network, log or chance`},
		},
		"engine on the network": {
			file:   "schema/get.go",
			source: `import "net/http"`,
			want:   []string{`schema/get.go: imports net/http: an engine has no disk, network, log or chance`},
		},
		"engine on the server library": {
			file:   "schema/owner.go",
			source: `import "k8s.io/apiserver/pkg/endpoints"`,
			want:   []string{`schema/owner.go: imports k8s.io/apiserver/pkg/endpoints: not among the libraries an engine may use (engineLibraries in architecture_test.go)`},
		},
		"a library whose name only begins alike": {
			file:   "schema/schema.go",
			source: `import "sigs.k8s.io/yamlish"`,
			want:   []string{`schema/schema.go: imports sigs.k8s.io/yamlish: not among the libraries an engine may use (engineLibraries in architecture_test.go)`},
		},
		"engine on the clock": {
			file:   "schema/update.go",
			source: `import clock "time"; var now = clock.Now()`,
			want:   []string{`schema/update.go: calls time.Now: an engine has no clock`},
		},
		"engine with a goroutine": {
			file:   "schema/walk.go",
			source: `func walk() { go walk() }`,
			want:   []string{`schema/walk.go: starts a goroutine: an engine has none`},
		},
		"test of an engine": {
			file:   "schema/decode_test.go",
			source: `import ("os"; "time"; "holdfast.dev/holdfast/internal/cli"); var now = time.Now()`,
		},
		"no engine, on the disk": {
			file:   "internal/access/token.go",
			source: `import ("os"; "holdfast.dev/holdfast/schema")`,
		},
		"against the order": {
			file:   "schema/build.go",
			source: `import "holdfast.dev/holdfast/internal/access"`,
			want: []string{`schema/build.go: imports holdfast.dev/holdfast/internal/access: ` +
				`schema comes before internal/access in the map of ARCHITECTURE.md, and a package imports only those before it`},
		},
		"a folder after what is in it": {
			file:   "internal/apiserver/server.go",
			source: `import "holdfast.dev/holdfast/internal/apiserver/storage"`,
		},
		"a package of a folder that comes after it": {
			file:   "internal/apiserver/storage/options.go",
			source: `import "holdfast.dev/holdfast/internal/apiserver"`,
			want: []string{`internal/apiserver/storage/options.go: imports holdfast.dev/holdfast/internal/apiserver: ` +
				`internal/apiserver/storage comes before internal/apiserver in the map of ARCHITECTURE.md, and a package imports only those before it`},
		},
		"a package without a place": {
			file:   "internal/util/strings.go",
			source: `import "strings"`,
			want:   []string{`internal/util/strings.go: package internal/util has no place in the map of ARCHITECTURE.md`},
		},
		"import of a package without a place": {
			file:   "internal/cli/root.go",
			source: `import "holdfast.dev/holdfast"`,
			want:   []string{`internal/cli/root.go: imports holdfast.dev/holdfast: it has no place in the map of ARCHITECTURE.md`},
		},
		"import of the test module": {
			file:   "internal/cli/main.go",
			source: `import "holdfast.dev/holdfast/test/kubectl"`,
			want:   []string{`internal/cli/main.go: imports holdfast.dev/holdfast/test/kubectl: only tests import the test module`},
		},
		"a module of its own": {
			file:   "bench/deep/main.go",
			source: `import "holdfast.dev/holdfast/internal/cli"`,
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
				"go.mod":          {},
				"ARCHITECTURE.md": {Data: []byte(page)},
				"bench/go.mod":    {},
				"test/go.mod":     {},
				test.file:         {Data: []byte("package p\n" + test.source)},
			}
			got, err := violations(tree, readMap(t, tree))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

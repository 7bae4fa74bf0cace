package holdfast_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

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

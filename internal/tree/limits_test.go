package tree_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"strings"
	"testing"
)

// TestLimits checks the limits that docs/definitions.md promises: the constants in the code, and the words of the page. A limit that
// changes has to change in both, and here.
func TestLimits(t *testing.T) {
	page, err := os.ReadFile(path.Join(root, "docs/definitions.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	for what, test := range map[string]struct{ file, name, value, documented string }{
		"a scan that only leads to warnings": {
			"internal/apiserver/gate/gate.go", "warnTimeout", "2 * time.Second", "With `warn` the server stops after 2 seconds",
		},
		"a scan of a policy that refuses": {
			"internal/apiserver/config/server.go", "defaultScanTimeout", "20 * time.Second", "`--definition-scan-timeout`, 20 seconds by default",
		},
		// etcd stores objects of at most 1.5 MB, so a page has at most 64 MB.
		"the objects in memory": {
			"internal/apiserver/storage/scan.go", "scanPage", "40", "reads the objects from etcd, 40 at a time, at most 64 MB",
		},
		"invalid objects are read again": {
			"internal/apiserver/config/server.go", "defaultRecheckInterval", "10 * time.Minute", "the server looks again every ten minutes",
		},
		"changes that are judged at the same time": {
			"internal/apiserver/gate/gate.go", "scans", "4", "It reads for four changes at the same time",
		},
		"the rate of migrations": {
			"internal/apiserver/migration/migrator.go", "objectsPerSecond", "500", "at most 500 objects per second are written",
		},
		"an object that cannot be written": {
			"internal/apiserver/migration/migrator.go", "DefaultPatience", "20 * time.Second", "An object that cannot be written for 20 seconds",
		},
	} {
		if got := constant(t, test.file, test.name); got != test.value {
			t.Errorf("%s: %s in %s is %s, want %s", what, test.name, test.file, got, test.value)
		}
		if !strings.Contains(text, test.documented) {
			t.Errorf("%s: docs/definitions.md lacks %q", what, test.documented)
		}
	}
}

// constant returns the value of a constant as the file writes it.
func constant(t *testing.T, file, name string) string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if ok && value.Names[0].Name == name && len(value.Values) == 1 {
				return types.ExprString(value.Values[0])
			}
		}
	}
	return "absent"
}

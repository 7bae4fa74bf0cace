package cli_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testMigrate migrates objects of a running server.
func testMigrate(t *testing.T, admin string) {
	t.Helper()
	// A server without the API answers 404.
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	without := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, clusters: [{name: a, cluster: {server: %q}}], "+
		"contexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b}}], current-context: a}", other.URL)
	if err := os.WriteFile(without, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		// want matches the output, or the error and the exit code if the command fails.
		want string
	}{
		{"--kubeconfig " + admin + " secrets instances.kudo.dev", `^secrets migrated: objects read: \d+, written: 0\n` +
			`instances.kudo.dev migrated: objects read: 0, written: 0\n$`},
		{"--kubeconfig " + admin + " ships.example.com", `^migrate ships.example.com: resource does not exist in discovery: .* \(1\)$`},
		{"--kubeconfig " + admin + " --timeout 1ms secrets", `^migrate secrets: not done within 1ms \(.*\); the migration goes on: ` +
			`kubectl get storageversionmigration secrets-\w+ \(1\)$`},
		{"--kubeconfig " + admin + " A.example.com", `^migrate A.example.com: .*spec.resource.resource: Invalid value: "A"`},
		{"--kubeconfig " + without + " secrets", `^the server ` + other.URL + ` does not have storageversionmigrations.storagemigration.k8s.io: .* \(2\)$`},
		{"--kubeconfig " + without + " --context c secrets", `context "c" does not exist \(2\)$`},
		{"--timeout -1s secrets", `^invalid argument "-1s" for "--timeout" flag: must not be negative\n.* \(2\)$`},
		{"", `^the argument RESOURCE is missing\n.* \(2\)$`},
	} {
		out, err := run(t.Context(), append([]string{"schema", "migrate"}, strings.Fields(test.args)...)...)
		if err != nil {
			code := 1
			var coded interface{ ExitCode() int }
			if errors.As(err, &coded) {
				code = coded.ExitCode()
			}
			out = fmt.Sprintf("%v (%d)", err, code)
		}
		if !regexp.MustCompile(test.want).MatchString(out) {
			t.Errorf("schema migrate %s: got %q, want %q", test.args, out, test.want)
		}
	}
}

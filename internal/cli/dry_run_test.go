package cli_test

import (
	"strings"
	"testing"
)

// testDryRuns checks that a dry run of the commands that write to a server changes nothing.
func testDryRuns(t *testing.T, admin string) {
	t.Helper()
	says := func(want, line string) {
		t.Helper()
		out, err := run(t.Context(), append(strings.Fields(line), "--kubeconfig", admin)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v: %q is not in:\n%s", line, err, want, out)
		}
	}
	says("user joe is revoked (server dry run)\n", "revoke --user joe --dry-run")
	says("user joe is revoked (dry run)\n", "revoke --user joe --dry-run=client")
	says("REVOKED   ISSUED BEFORE   ADDED   REASON\n", "revoke --list")
	says("certificate for joe requested (server dry run)\n", "kubeconfig joe --dry-run")
	says("certificate for joe requested (dry run)\n", "kubeconfig joe --dry-run=client")
	says("secrets migrated (server dry run)\n", "schema migrate secrets --dry-run")
	says("secrets migrated (dry run)\n", "schema migrate secrets --dry-run=client")
	says("deployment/holdfast-guard missing (server dry run)\n", "guard init --dry-run")
	says("kind: ClusterRole", "guard init --dry-run=client")
	says("", "guard uninstall --dry-run")
	if out, err := run(t.Context(), "get", "namespaces,csr", "--kubeconfig", admin); err != nil ||
		strings.Contains(out, "holdfast-guard") || strings.Contains(out, "joe") {
		t.Errorf("a dry run left something: %v\n%s", err, out)
	}
}

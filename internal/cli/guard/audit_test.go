package guard_test

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/holdfast/internal/cli/command"
)

// TestAuditUnable checks that the exit code of an audit that could not read a cluster is 2.
func TestAuditUnable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed.kubeconfig")
	kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n" +
		"contexts: [{name: a, context: {cluster: a}}]\n"
	if err := os.WriteFile(closed, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--kubeconfig", closed}, {"--kubeconfig", filepath.Join(dir, "missing")}, {"-o", "xml"}, {"--wrong"}, {"argument"},
	} {
		_, _, err := run(t.Context(), "", append([]string{"guard", "audit"}, args...)...)
		if command.Code(nil, err) != command.ExitUnable {
			t.Errorf("%s: got %v, want an error with exit code 2", args, err)
		}
	}
}

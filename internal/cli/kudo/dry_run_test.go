package kudo_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/command"
)

// testDryRun checks that a dry run of each command that writes says what it would do, and leaves everything as it is. It also checks the manager
// in the managed fields, and the list of all namespaces.
func testDryRun(t *testing.T, c cluster) {
	location := tok(t, "0.1.0", first)
	says := func(want string, args ...string) {
		t.Helper()
		for _, dryRun := range []string{"--dry-run", "--dry-run=client"} {
			if out := c.must(t, append(args, dryRun)...); !strings.Contains(out, want) {
				t.Errorf("kudo %s %s: %q is not in:\n%s", strings.Join(args, " "), dryRun, want, out)
			}
		}
	}
	says("tok: - -> tok-1.0-0.1.0\n", "install", location, "--instance", "tok", "-p", "REALM=r")
	says("tok-1.0-0.1.0 is in namespace", "install", location, "--skip-instance")
	if out := c.names(t, "instances") + c.names(t, "operatorversions"); out != "" {
		t.Fatalf("a dry run of install left %s", out)
	}
	c.fails(t, "install refused", "install", location, "--dry-run")
	c.must(t, "install", location, "--instance", "tok", "-p", "REALM=r", "--wait")
	before := c.instance(t, "tok")
	says("SIZE        3     4     mutable", "update", "tok", "-p", "SIZE=4")
	says("plan backup of instance tok triggered (", "plan", "trigger", "tok", "backup", "--wait")
	says("instance tok is being deleted (", "uninstall", "tok", "--wait")
	c.fails(t, "update refused", "update", "tok", "-p", "REALM=other", "--dry-run")
	after := c.instance(t, "tok")
	if diff := cmp.Diff(before.Spec.Parameters, after.Spec.Parameters); diff != "" || after.DeletionTimestamp != nil ||
		after.Status.PlanStatus["backup"].Status != api.NeverRun {
		t.Errorf("a dry run changed the instance: %s", diff)
	}
	if err := c.run(t.Context(), &strings.Builder{}, "update", "tok", "-p", "SIZE=x", "--dry-run=true"); command.Code(nil, err) != command.ExitUnable {
		t.Errorf("--dry-run=true: %v", err)
	}
	for _, entry := range before.ManagedFields {
		if entry.Subresource == "" && entry.Manager == "Go-http-client" {
			t.Errorf("the writes have the manager %s", entry.Manager)
		}
	}
	if out := c.must(t, "get", "-A"); !strings.Contains(out, "NAMESPACE") || !strings.Contains(out, c.Namespace+"   ") {
		t.Errorf("get -A:\n%s", out)
	}
}

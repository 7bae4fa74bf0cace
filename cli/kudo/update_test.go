package kudo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testUpdate checks the command update, with refused and accepted values.
func testUpdate(t *testing.T, c cluster) {
	c.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("REALM: other\nZONE: null\nSIZE: 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := c.instance(t, "tok").Spec.Parameters
	c.fails(t, `update refused:
parameter 'REALM' is immutable but was changed from 'r' to 'other'
parameter 'ZONE' is immutable but was removed (value 'eu')`, "update", "tok", "-P", file)
	c.fails(t, "parameter 'OTHER' is unknown", "update", "tok", "-p", "OTHER=1")
	c.fails(t, "there is no instance none in namespace update", "update", "none", "-p", "SIZE=1")
	c.fails(t, "give parameters with -p or -P", "update", "tok")
	if diff := cmp.Diff(before, c.instance(t, "tok").Spec.Parameters); diff != "" {
		t.Errorf("a refused update changed (-want +got):\n%s", diff)
	}
	// An immutable parameter may be given with its current value.
	c.must(t, "update", "tok", "-p", "REALM=r", "-p", "ZONE=eu", "-p", "SIZE=9")
	if got := c.instance(t, "tok").Spec.Parameters["SIZE"]; got != "9" {
		t.Errorf("SIZE is %q", got)
	}
}

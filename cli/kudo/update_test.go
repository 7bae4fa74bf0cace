package kudo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testUpdate(t *testing.T, w world) {
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("REALM: other\nZONE: null\nSIZE: 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := w.instance(t, "tok").Spec.Parameters
	w.fails(t, `update refused:
parameter 'REALM' is immutable but was changed from 'r' to 'other'
parameter 'ZONE' is immutable but was removed (value 'eu')`, "update", "tok", "-P", file)
	w.fails(t, "parameter 'OTHER' is unknown", "update", "tok", "-p", "OTHER=1")
	w.fails(t, "there is no instance none in namespace update", "update", "none", "-p", "SIZE=1")
	w.fails(t, "give parameters with -p or -P", "update", "tok")
	if diff := cmp.Diff(before, w.instance(t, "tok").Spec.Parameters); diff != "" {
		t.Errorf("a refused update changed (-want +got):\n%s", diff)
	}
	// With the values they have, immutable parameters may be given.
	w.must(t, "update", "tok", "-p", "REALM=r", "-p", "ZONE=eu", "-p", "SIZE=9")
	if got := w.instance(t, "tok").Spec.Parameters["SIZE"]; got != "9" {
		t.Errorf("SIZE is %q", got)
	}
}

package kudo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testInstall(t *testing.T, w world) {
	folder := tok(t, "0.1.0", first)
	// Every refusal at once, and nothing written.
	w.fails(t, `install refused:
parameter 'SIZE' has the value 'many', which is not of type integer
parameter 'REALM' is required but no value was provided
parameter 'OTHER' is unknown: operator version tok-1.0-0.1.0 has no such parameter`, "install", folder, "-p", "SIZE=many", "-p", "OTHER=1")
	_, err := w.kudo(t.Context(), "install", folder, "-p", "OTHER=1", "--accept-immutable", "STRANGE")
	if err == nil {
		t.Fatal("installed")
	}
	for _, want := range []string{
		"parameter 'REALM'", "parameter 'OTHER' is unknown: operator version tok-1.0-0.1.0 has no such parameter", "parameter 'STRANGE' is unknown",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if got := w.names(t, "operators") + w.names(t, "operatorversions") + w.names(t, "instances"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	w.fails(t, `context "none" does not exist`, "get", "--context", "none")
	w.fails(t, `--parameter "SIZE": not NAME=VALUE`, "install", folder, "-p", "SIZE")

	// The defaults of what is immutable are pinned; -p goes before a file.
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("REALM: r\nSIZE: 7\nLATER: null\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := w.must(t, "install", folder, "-P", file, "-p", "SIZE=4", "--instance", "one")
	if diff := cmp.Diff("instance one of tok-1.0-0.1.0 installed\n", out); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{"REALM": "r", "SIZE": "4", "ZONE": "eu", "FREE": "f", "GONE": "g"}
	if diff := cmp.Diff(want, w.instance(t, "one").Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	w.fails(t, "instance one is in namespace install already", "install", folder, "-p", "REALM=r", "--instance", "one")
	w.must(t, "install", folder, "-p", "REALM=r")
	// A version is what it is.
	w.fails(t, "operator version tok-1.0-0.1.0 is in namespace install already, with other content",
		"install", tok(t, "0.1.0", first+"- {name: MORE, default: m}\n"), "-p", "REALM=r", "--instance", "two")
}

func testGetAndUninstall(t *testing.T, w world) {
	if out := w.must(t, "get"); out != "no instances in namespace get-uninstall\n" {
		t.Errorf("got %q", out)
	}
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	for what, want := range map[string]string{
		"instances": "tok    tok-1.0-0.1.0", "operators": "tok", "operatorversions": "tok-1.0-0.1.0   tok        0.1.0              1.0",
	} {
		if out := w.must(t, "get", what); !strings.Contains(out, "\n"+want) {
			t.Errorf("%s:\n%s", what, out)
		}
	}
	w.fails(t, "invalid argument", "get", "pods")
	if out := w.must(t, "uninstall", "tok", "--wait", "--timeout", "0"); out != "instance tok is gone\n" {
		t.Errorf("got %q", out)
	}
	w.fails(t, "there is no instance tok", "uninstall", "tok")
	if got := w.names(t, "operatorversions"); got != "tok-1.0-0.1.0" {
		t.Errorf("operator versions: %s", got)
	}
}

package kudo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testInstall checks the command install, with refused and accepted values.
func testInstall(t *testing.T, c cluster) {
	folder := tok(t, "0.1.0", first)
	// A refused install lists all refusals and writes nothing.
	c.fails(t, `install refused:
parameter 'SIZE' has the value 'many', which is not of type integer
parameter 'REALM' is required but no value was provided
parameter 'OTHER' is unknown: operator version tok-1.0-0.1.0 has no such parameter`, "install", folder, "-p", "SIZE=many", "-p", "OTHER=1")
	_, err := c.kudo(t.Context(), "install", folder, "-p", "OTHER=1", "--accept-immutable", "STRANGE")
	if err == nil {
		t.Fatal("installed")
	}
	for _, want := range []string{
		"parameter 'REALM'", "parameter 'OTHER' is unknown: operator version tok-1.0-0.1.0 has no such parameter",
		"parameter 'STRANGE' is unknown",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if got := c.names(t, "operators") + c.names(t, "operatorversions") + c.names(t, "instances"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	c.fails(t, `context "none" does not exist`, "get", "--context", "none")
	c.fails(t, `--parameter "SIZE": not NAME=VALUE`, "install", folder, "-p", "SIZE")

	// The defaults of immutable parameters are stored. A value of -p wins over one of a file.
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("REALM: r\nSIZE: 7\nLATER: null\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := c.must(t, "install", folder, "-P", file, "-p", "SIZE=4", "--instance", "one")
	if diff := cmp.Diff("instance one of tok-1.0-0.1.0 installed\n", out); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{"REALM": "r", "SIZE": "4", "ZONE": "eu", "FREE": "f", "GONE": "g"}
	if diff := cmp.Diff(want, c.instance(t, "one").Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	c.fails(t, "instance one is in namespace install already", "install", folder, "-p", "REALM=r", "--instance", "one")
	c.must(t, "install", folder, "-p", "REALM=r", "--instance", "tok")
	// Another package with the same version is refused.
	c.fails(t, "operator version tok-1.0-0.1.0 is in namespace install already, with other content",
		"install", tok(t, "0.1.0", first+"- {name: MORE, default: m}\n"), "-p", "REALM=r", "--instance", "two")
}

// testGetAndUninstall checks the commands get and uninstall.
func testGetAndUninstall(t *testing.T, c cluster) {
	if out := c.must(t, "get"); out != "no instances in namespace get-uninstall\n" {
		t.Errorf("got %q", out)
	}
	c.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok")
	for what, want := range map[string]string{
		"instances":        "tok    tok-1.0-0.1.0",
		"operators":        "tok",
		"operatorversions": "tok-1.0-0.1.0   tok        0.1.0              1.0",
	} {
		if out := c.must(t, "get", what); !strings.Contains(out, "\n"+want) {
			t.Errorf("%s:\n%s", what, out)
		}
	}
	c.fails(t, "get pods: give one of instances, operators, operatorversions, all", "get", "pods")
	if out := c.must(t, "uninstall", "tok", "--wait", "--timeout", "0"); out != "instance tok is gone\n" {
		t.Errorf("got %q", out)
	}
	c.fails(t, "there is no instance tok", "uninstall", "tok")
	if got := c.names(t, "operatorversions"); got != "tok-1.0-0.1.0" {
		t.Errorf("operator versions: %s", got)
	}
}

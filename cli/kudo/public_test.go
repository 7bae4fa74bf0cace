package kudo_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// testPublicPackages takes packages in the style of public ones through their life: arrays
// without defaults, a toggle of a kind that does not exist, fields that a kind does not have, a
// definition with an object of it, removed API versions, and dependencies in folders below and beside
// the package.
func testPublicPackages(t *testing.T, c cluster) {
	for _, name := range []string{"arrays", "monitor", "definitions", "removed", "needs", "beside"} {
		t.Run(name, func(t *testing.T) {
			older, newer := publicPackage(t, name, "0.1.0"), publicPackage(t, name, "0.2.0")
			instance := name + "-instance"
			c.must(t, "install", older, "--wait")
			c.must(t, "update", "--instance", instance, "-p", "SIZE=2", "--wait")
			c.must(t, "upgrade", newer, "--instance", instance, "--dry-run")
			c.must(t, "upgrade", newer, "--instance", instance, "--wait")
			c.must(t, "rollback", "--instance", instance, "--wait")
			out := c.must(t, "uninstall", "--instance", instance, "--wait")
			if !strings.HasPrefix(out, "instance "+instance+" is gone\n") {
				t.Errorf("uninstall:\n%s", out)
			}
		})
	}
}

// publicPackage returns the location of a package that verify accepts. The package with removed
// API versions is migrated first. One with a package beside it is installed from a folder, and
// upgraded from an archive.
func publicPackage(t *testing.T, name, version string) string {
	t.Helper()
	location := filepath.Join("testdata", "public", name, version)
	out := offline(t, "package", "verify", location)
	switch name {
	case "monitor":
		if !strings.Contains(out, "plans leave them out: spec.restartPolicy, spec.template.spec.containers[0].ports[0].protocolName") {
			t.Errorf("verify does not name the unknown fields:\n%s", out)
		}
	case "removed":
		if strings.Count(out, "was removed in Kubernetes") != 3 {
			t.Errorf("verify does not name the removed API versions:\n%s", out)
		}
		migrated := filepath.Join(t.TempDir(), name)
		offline(t, "package", "migrate", location, "--destination", migrated)
		location = migrated
	case "beside":
		if version == "0.2.0" {
			location = offline(t, "package", "create", location, "-d", t.TempDir())
		}
	}
	return location
}

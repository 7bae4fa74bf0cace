package kudo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/waittest"
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

// example is an example package with its versions, oldest first.
type example struct {
	versions        []string
	install, update []string
	// upgrades are the flags of the upgrade to each version but the first.
	upgrades [][]string
}

// testExamples takes the example packages through their life.
func testExamples(t *testing.T, c cluster) {
	root := filepath.Join("..", "..", "..", "examples", "operators")
	// The example has one version. The second one differs only in its number.
	guestbook := filepath.Join(t.TempDir(), "0.2.0")
	if err := os.CopyFS(guestbook, os.DirFS(filepath.Join(root, "guestbook", "0.1.0"))); err != nil {
		t.Fatal(err)
	}
	operator := filepath.Join(guestbook, "operator.yaml")
	text, err := os.ReadFile(operator)
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(text), "operatorVersion: 0.1.0", "operatorVersion: 0.2.0", 1)
	if err := os.WriteFile(operator, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, each := range map[string]example{
		"zookeeper": {
			versions: []string{root + "/zookeeper/0.1.0", root + "/zookeeper/0.2.0", root + "/zookeeper/0.3.0"},
			install:  []string{"-p", "CLUSTER_NAME=main"}, update: []string{"-p", "NODE_COUNT=5", "-p", "METRICS=true"},
			upgrades: [][]string{
				{"--accept-immutable", "POD_POLICY", "--accept-immutable", "BACKUP_CLASS"}, {"-p", "TENANT=us", "-p", "CLUSTER_NAME=renamed"},
			},
		},
		"kafka": {
			versions: []string{root + "/kafka/1.0.0", root + "/kafka/1.1.0", root + "/kafka/2.0.0"},
			install:  []string{"-p", "ZOOKEEPER_URI=zk:2181", "-p", "EXTERNAL_ACCESS=true"}, update: []string{"-p", "BROKER_COUNT=2"},
			upgrades: [][]string{
				{"--accept-immutable", "ZOOKEEPER_URI", "--accept-immutable", "RACK_LABEL"}, {"-p", "CLUSTER_ID=MkU3OEVBNTcwNTJENDM2Qk"},
			},
		},
		"guestbook": {
			versions: []string{root + "/guestbook/0.1.0", guestbook},
			install:  []string{"-p", "STORE_PATH=/srv"}, update: []string{"-p", "TITLE=Hello"}, upgrades: [][]string{nil},
		},
	} {
		t.Run(name, func(t *testing.T) { each.live(t, c, name+"-instance") })
	}
}

// live verifies all versions, installs the first one, updates the instance, upgrades it to the
// others, rolls it back to the first one and uninstalls it.
func (e example) live(t *testing.T, c cluster, instance string) {
	t.Helper()
	for _, version := range e.versions {
		offline(t, "package", "verify", version)
	}
	c.must(t, append([]string{"install", e.versions[0], "--wait"}, e.install...)...)
	first := c.instance(t, instance).Spec
	c.must(t, append([]string{"update", instance, "--wait"}, e.update...)...)
	for i, flags := range e.upgrades {
		upgrade := append([]string{"upgrade", e.versions[i+1], "--instance", instance}, flags...)
		c.must(t, append(upgrade, "--dry-run")...)
		c.must(t, append(upgrade, "--wait")...)
	}
	for range e.upgrades {
		c.must(t, "rollback", instance, "--wait")
	}
	back := c.instance(t, instance).Spec
	if back.OperatorVersion.Name != first.OperatorVersion.Name {
		t.Errorf("rolled back to %s", back.OperatorVersion.Name)
	}
	for parameter, value := range first.Parameters {
		if !strings.Contains(strings.Join(e.update, " "), parameter+"=") && back.Parameters[parameter] != value {
			t.Errorf("%s is %q, and was %q", parameter, back.Parameters[parameter], value)
		}
	}
	c.must(t, "uninstall", instance, "--wait")
	waittest.Until(t, "no instance is left", func() bool { return c.names(t, "instances") == "" })
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

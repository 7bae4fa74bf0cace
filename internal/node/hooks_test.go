package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// hooksDir returns a directory with one executable script for each name. It skips the test
// unless it runs as root, because hooks have to belong to root.
func hooksDir(t *testing.T, scripts map[string]string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: the agent runs only hooks that belong to root, and this test creates them")
	}
	dir := openDir(t)
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// openDir returns a temporary directory that all users can read.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for parent := dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// podWithHooks returns a Pod in YAML with a volume of the ConfigMap. annotations is YAML in
// flow style.
func podWithHooks(name, configMap, annotations string) string {
	return fmt.Sprintf("{kind: Pod, metadata: {name: %s, annotations: %s}, "+
		"spec: {nodeName: n1, automountServiceAccountToken: false, volumes: [{name: conf, configMap: {name: %s}}]}}",
		name, annotations, configMap)
}

// TestHooks checks the user, environment and arguments of hooks, and what happens if a hook
// fails.
func TestHooks(t *testing.T) {
	t.Parallel()
	out := openDir(t)
	if err := os.Chmod(out, 0o777); err != nil {
		t.Fatal(err)
	}
	dir := hooksDir(t, map[string]string{
		// reload writes its user, the number of its arguments, its environment and the content
		// of the volume to a file.
		"reload": `{ id -un; echo "$#"; env | grep -v -e PWD -e _= -e SHLVL | sort; cat "$HOLDFAST_VOLUME_PATH/app.conf"; echo; } ` +
			`>` + out + `/reload.tmp && mv ` + out + `/reload.tmp ` + out + `/reload`,
		"check": `! grep -q bad "$HOLDFAST_VOLUME_PATH/app.conf"`,
		"fails": `exit 3`,
	})
	root := openDir(t)
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1", Root: root, HooksDir: dir, HooksUser: "nobody"})
	c.apply(t, podWithHooks("web", "app", `{holdfast.dev/on-change: reload, holdfast.dev/check: check}`))
	// ran waits until the hook has run with this content of the volume.
	ran := func(content string) {
		t.Helper()
		want := fmt.Sprintf("nobody\n0\nHOLDFAST_POD_UID=%s\nHOLDFAST_VOLUME_PATH=%s\n"+
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n%s\n",
			c.uid(t, "web"), a.path(c, t, "web", "conf"), content)
		got := ""
		waittest.Until(t, "the hook ran", func() bool {
			data, _ := os.ReadFile(filepath.Join(out, "reload"))
			if string(data) != got {
				got = string(data)
				t.Logf("hook: %s", got)
			}
			return got == want
		})
	}
	ran("one")
	c.setData(t, "app", "two")
	ran("two")
	c.waitForCondition(t, "web", "True", "")

	// Files that the check rejects do not replace the old ones; the condition gives the reason.
	c.setData(t, "app", "bad")
	c.waitForCondition(t, "web", "False", `volume conf: hook "check" of holdfast.dev/check: exit status 1`)
	a.waitForFile(c, t, "web", "conf/app.conf", "two")
	c.setData(t, "app", "three")
	a.waitForFile(c, t, "web", "conf/app.conf", "three")
	ran("three")
	c.waitForCondition(t, "web", "True", "")

	// A pod is not pinned to an immutable object that the check rejected.
	c.apply(t, `{kind: ConfigMap, metadata: {name: fixed}, immutable: true, data: {app.conf: bad}}`)
	c.apply(t, podWithHooks("fixed", "fixed", "{holdfast.dev/check: check}"))
	c.waitForCondition(t, "fixed", "False", `hook "check" of holdfast.dev/check: exit status 1`)
	c.recreate(t, "fixed", `{kind: ConfigMap, metadata: {name: fixed}, immutable: true, data: {app.conf: good}}`)
	a.waitForFile(c, t, "fixed", "conf/app.conf", "good")

	for name, test := range map[string]struct{ hook, want string }{
		"none":  {"gone", `hook "gone" of holdfast.dev/on-change: there is no such hook on this node`},
		"slash": {"../reload", `hook "../reload" of holdfast.dev/on-change: must be the name of a file in the directory of hooks`},
		"fails": {"fails", `hook "fails" of holdfast.dev/on-change: exit status 3`},
	} {
		c.apply(t, podWithHooks(name, "app", "{holdfast.dev/on-change: "+test.hook+"}"))
		c.waitForCondition(t, name, "False", test.want)
		a.waitForFile(c, t, name, "conf/app.conf", "three")
	}
}

// TestHooksOff checks that the annotations have no effect if the agent has no hooks directory.
func TestHooksOff(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, podWithHooks("web", "app", `{holdfast.dev/on-change: reload, holdfast.dev/check: check}`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	c.waitForCondition(t, "web", "True", "")
}

// TestHookOutput checks that the Event of a failed hook has the last lines of its output,
// unless the volume contains a Secret, and that the metrics count the hooks.
func TestHookOutput(t *testing.T) {
	t.Parallel()
	dir := hooksDir(t, map[string]string{
		"fails": `seq 1 9; printf 'bad \033[31mvalue\n'; cat "$HOLDFAST_VOLUME_PATH"/*; exit 3`,
	})
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}
---
{kind: Secret, metadata: {name: key}, stringData: {password: hunter2}}`)
	a := c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root"})
	c.apply(t, podWithHooks("open", "app", "{holdfast.dev/on-change: fails}"))
	c.apply(t, `{kind: Pod, metadata: {name: secret, annotations: {holdfast.dev/check: fails}}, `+
		`spec: {nodeName: n1, automountServiceAccountToken: false, volumes: [{name: key, secret: {secretName: key}}]}}`)
	c.waitForEvent(t, "open", "Warning", "volume conf: hook \"fails\" of holdfast.dev/on-change: exit status 3\n7\n8\n9\nbad [31mvalue\none")
	c.waitForEvent(t, "secret", "Warning", "volume key: hook \"fails\" of holdfast.dev/check: exit status 3\n"+
		"(40 bytes of output, not shown because the volume contains Secrets)")
	c.apply(t, podWithHooks("unknown", "app", "{holdfast.dev/on-change: gone}"))
	c.waitForCondition(t, "unknown", "False", "there is no such hook on this node")
	c.apply(t, podWithHooks("long", "app", "{holdfast.dev/on-change: "+strings.Repeat("x", 5000)+"}"))
	c.waitForCondition(t, "long", "False", `xxx..." of holdfast.dev/on-change: `)
	for _, want := range [][]string{
		{"holdfast_node_hook_failures_total", "check", "fails"},
		{"holdfast_node_hook_failures_total", "on-change", "unknown"},
		{"holdfast_node_hook_runs_total", "on-change", "fails"},
		{"holdfast_node_hook_duration_seconds", "check", "fails"},
	} {
		if a.gauge(t, want[0], want[1:]...) == 0 {
			t.Errorf("%s is 0", want)
		}
	}
}

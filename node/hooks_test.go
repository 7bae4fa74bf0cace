package node_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
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
		servertest.Eventually(t, "the hook ran", func() bool {
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

// TestHookTimeout checks that a hook that exceeds its timeout is killed with all processes that
// it started, and that files that were not checked do not replace the old ones.
func TestHookTimeout(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "started")
	dir := hooksDir(t, map[string]string{"slow": "sleep 100000 & echo $! >>" + out + "; wait"})
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root", HookTimeout: 300 * time.Millisecond})
	c.apply(t, podWithHooks("checked", "app", "{holdfast.dev/check: slow}"))
	c.waitForCondition(t, "checked", "False", `volume conf: hook "slow" of holdfast.dev/check: not done in 300ms`)
	if _, err := os.Lstat(a.path(c, t, "checked", "conf/app.conf")); !os.IsNotExist(err) {
		t.Errorf("a file that was not checked: %v", err)
	}
	c.apply(t, podWithHooks("changed", "app", "{holdfast.dev/on-change: slow}"))
	c.waitForCondition(t, "changed", "False", `volume conf: hook "slow" of holdfast.dev/on-change: not done in 300ms`)
	a.waitForFile(c, t, "changed", "conf/app.conf", "one")
	a.stop(t)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		pid := number(t, strings.TrimSpace(line))
		servertest.Eventually(t, "the processes of the hook have ended", func() bool {
			return !isRunning(pid)
		})
	}
	byDefault, err := node.New(node.Config{Client: c.admin, Name: "n1", Root: t.TempDir(), HooksDir: dir, HooksUser: "root"})
	if err != nil {
		t.Fatal(err)
	}
	if got := byDefault.HookTimeout(); got != 30*time.Second {
		t.Errorf("the default timeout of hooks is %s", got)
	}
}

// TestHangingHooks checks that hooks that hang delay neither the files of other pods nor
// other hooks, and that the condition of their pods says what they wait for.
func TestHangingHooks(t *testing.T) {
	t.Parallel()
	dir := hooksDir(t, map[string]string{"hangs": "exec sleep 100000", "quick": "echo quick"})
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root", HookTimeout: time.Hour, HookConcurrency: 4})
	for i := range 3 {
		c.apply(t, podWithHooks(fmt.Sprintf("checked-%d", i), "app", "{holdfast.dev/check: hangs}"))
		c.apply(t, podWithHooks(fmt.Sprintf("changed-%d", i), "app", "{holdfast.dev/on-change: hangs}"))
	}
	for i := range 3 {
		a.waitForFile(c, t, fmt.Sprintf("changed-%d", i), "conf/app.conf", "one")
		c.waitForCondition(t, fmt.Sprintf("changed-%d", i), "False", `volume conf: hook "hangs" of holdfast.dev/on-change has not ended yet`)
		c.waitForCondition(t, fmt.Sprintf("checked-%d", i), "False", `volume conf: hook "hangs" of holdfast.dev/check has not ended yet`)
	}
	c.apply(t, podWithHooks("plain", "app", "{}"))
	c.apply(t, podWithHooks("other", "app", "{holdfast.dev/check: quick, holdfast.dev/on-change: quick}"))
	for _, pod := range []string{"plain", "other"} {
		a.waitForFile(c, t, pod, "conf/app.conf", "one")
		c.waitForCondition(t, pod, "True", "")
	}

	// The agent ends the hooks of a deleted pod, and the pod itself.
	dirs := a.path(c, t, "checked-0", "..")
	c.deletePod(t, "checked-0")
	c.waitForDeletion(t, "checked-0")
	if _, err := os.Lstat(dirs); !os.IsNotExist(err) {
		t.Errorf("the files of a deleted pod: %v", err)
	}
}

// TestCheckIsReplaced checks that a check of outdated files ends when there are new files.
func TestCheckIsReplaced(t *testing.T) {
	t.Parallel()
	dir := hooksDir(t, map[string]string{"check": `! grep -q bad "$HOLDFAST_VOLUME_PATH/app.conf" || exec sleep 100000`})
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: bad}}`)
	a := c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root", HookTimeout: time.Hour})
	c.apply(t, podWithHooks("web", "app", "{holdfast.dev/check: check}"))
	c.waitForCondition(t, "web", "False", `hook "check" of holdfast.dev/check has not ended yet`)
	c.setData(t, "app", "good")
	a.waitForFile(c, t, "web", "conf/app.conf", "good")
	c.waitForCondition(t, "web", "True", "")
	servertest.Eventually(t, "the staged files are removed", func() bool {
		left, err := filepath.Glob(filepath.Join(a.root, "pods", "*", "staging", "*"))
		return err == nil && len(left) == 0
	})
}

// TestSlowCheck checks that files are replaced although the content changes faster than the check
// ends. The content is a number, and the check ends when the number has become three higher.
func TestSlowCheck(t *testing.T) {
	t.Parallel()
	current := filepath.Join(t.TempDir(), "current")
	dir := hooksDir(t, map[string]string{
		"check": `while test "$(cat ` + current + `)" -lt $(($(cat "$HOLDFAST_VOLUME_PATH/app.conf") + 3)); do sleep 0.05; done`,
	})
	c := startCluster(t)
	setCurrent := func(value int) {
		t.Helper()
		if err := os.WriteFile(current+".next", []byte(strconv.Itoa(value)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(current+".next", current); err != nil {
			t.Fatal(err)
		}
	}
	setCurrent(0)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: "0"}}`)
	a := c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root", HookTimeout: time.Hour})
	c.apply(t, podWithHooks("web", "app", "{holdfast.dev/check: check}"))
	path := a.path(c, t, "web", "conf/app.conf")
	seen, value := map[string]bool{}, 0
	servertest.Eventually(t, "the files were replaced twice", func() bool {
		value++
		c.setData(t, "app", strconv.Itoa(value))
		setCurrent(value)
		if data, err := os.ReadFile(path); err == nil {
			seen[string(data)] = true
		}
		return len(seen) > 2
	})
	// When the changes end, the files get the last content.
	setCurrent(value + 3)
	a.waitForFile(c, t, "web", "conf/app.conf", strconv.Itoa(value))
	c.waitForCondition(t, "web", "True", "")
}

// TestCheckOfToken checks that a volume with a token passes its check hook. The agent has no file to
// take the token from while the check runs, so it requests another token afterwards.
func TestCheckOfToken(t *testing.T) {
	t.Parallel()
	dir := hooksDir(t, map[string]string{"check": `test -s "$HOLDFAST_VOLUME_PATH/token"`})
	c := startCluster(t)
	a := c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root"})
	c.apply(t, `{kind: Pod, metadata: {name: web, annotations: {holdfast.dev/check: check}}, `+
		`spec: {nodeName: n1, automountServiceAccountToken: false, `+
		`volumes: [{name: access, projected: {sources: [{serviceAccountToken: {path: token}}]}}]}}`)
	c.waitForCondition(t, "web", "True", "")
	if info, err := os.Stat(a.path(c, t, "web", "access/token")); err != nil || info.Size() == 0 {
		t.Errorf("token: %v, %v", info, err)
	}
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

// isRunning reports whether a process exists and is not a zombie.
func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
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

// TestUnsafeHooks checks that the agent accepts only hooks and directories that no user but root
// can change.
func TestUnsafeHooks(t *testing.T) {
	t.Parallel()
	good := hooksDir(t, map[string]string{"reload": "true"})
	writable := hooksDir(t, nil)
	if err := os.Chmod(writable, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	foreign := hooksDir(t, nil)
	if err := os.Chown(foreign, 65534, 0); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(foreign, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	sticky := hooksDir(t, nil)
	if err := errors.Join(os.Chmod(sticky, os.ModeSticky|0o777), os.Chown(sticky, 65534, 0)); err != nil {
		t.Fatal(err)
	}
	replaceable := filepath.Join(sticky, "replaceable")
	if err := os.Mkdir(replaceable, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ dir, user, want string }{
		"no user":           {good, "", "--hooks-dir: needs --hooks-user, the user that hooks run as"},
		"no directory":      {"", "nobody", "--hooks-user: there are no hooks without --hooks-dir"},
		"no such user":      {good, "nobody-at-all", "--hooks-user nobody-at-all: no such user"},
		"no such directory": {good + "/x", "nobody", "--hooks-dir: lstat " + good + "/x: no such file or directory"},
		"a file":            {good + "/reload", "nobody", "--hooks-dir: " + good + "/reload: not a directory"},
		"writable by others": {
			writable, "nobody",
			"--hooks-dir: " + writable + ": must not be writable by others than root, and has mode dtrwxrwxrwx",
		},
		"of another user":             {foreign, "nobody", "--hooks-dir: " + foreign + ": must belong to root"},
		"below one of another user":   {below, "nobody", "--hooks-dir: " + foreign + ": must belong to root"},
		"below one with a sticky bit": {replaceable, "nobody", "--hooks-dir: " + sticky + ": must belong to root"},
	}
	c := startCluster(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := node.New(node.Config{Client: c.admin, Name: "n1", Root: t.TempDir(), HooksDir: test.dir, HooksUser: test.user})
			if err == nil || err.Error() != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
	// The file of a hook is checked each time before it runs.
	for name, test := range map[string]struct {
		change func(dir string) error
		hook   string
		want   string
	}{
		"writable by others": {
			func(dir string) error { return os.Chmod(dir+"/reload", 0o777) }, "reload", "must not be writable by others than root",
		},
		"of another user": {func(dir string) error { return os.Chown(dir+"/reload", 65534, 0) }, "reload", "must belong to root"},
		"link":            {func(dir string) error { return os.Symlink("/bin/true", dir+"/link") }, "link", "not a regular file"},
		"not executable":  {func(dir string) error { return os.Chmod(dir+"/reload", 0o644) }, "reload", "not executable"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := hooksDir(t, map[string]string{"reload": "true"})
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
			c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root"})
			c.apply(t, podWithHooks("web", "app", "{holdfast.dev/on-change: "+test.hook+"}"))
			c.waitForCondition(t, "web", "False", test.want)
		})
	}
}

package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

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
	// The agent may kill a hook before it has started a process. It runs the hook again later.
	waittest.Until(t, "a hook has started a process", func() bool {
		data, err := os.ReadFile(out)
		return err == nil && len(data) > 0
	})
	a.stop(t)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		pid := number(t, strings.TrimSpace(line))
		waittest.Until(t, "the processes of the hook have ended", func() bool {
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
	c.registered(t, a)
	c.deletePod(t, "checked-0")
	c.waitForDeletion(t, "checked-0")
	if _, err := os.Lstat(dirs); !os.IsNotExist(err) {
		t.Errorf("the files of a deleted pod: %v", err)
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

package node_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

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
	waittest.Until(t, "the staged files are removed", func() bool {
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
	waittest.Until(t, "the files were replaced twice", func() bool {
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

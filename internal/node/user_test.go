package node_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// unprivileged is the user of an agent that is not root. It is in one group besides its own.
var unprivileged = &syscall.Credential{Uid: 65534, Gid: 65534, Groups: []uint32{4242}}

// TestAgentThatIsNotRoot runs an agent as another user. The agent writes files, links and runs hooks,
// before and after a restart. The condition of a pod says which group the agent could not set.
func TestAgentThatIsNotRoot(t *testing.T) {
	t.Parallel()
	out := openDir(t)
	hooks := hooksDir(t, map[string]string{
		"reload": `{ id -u; cat "$HOLDFAST_VOLUME_PATH/app.conf"; } >` + out + `/next && mv ` + out + `/next ` + out + `/reload`,
	})
	own := openDir(t)
	for _, dir := range []string{out, own} {
		if err := os.Chown(dir, int(unprivileged.Uid), int(unprivileged.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}
---
{kind: Secret, metadata: {name: key}, stringData: {password: hunter2}}`)
	h := &host{
		config: node.Config{
			Name: "n1", Root: filepath.Join(own, "root"), HooksDir: hooks, HooksUser: "65534",
		},
		credential: c.credential(t, "n1"), process: true, program: openCopy(t, os.Args[0]), user: unprivileged,
	}
	h.start(t, c)
	c.apply(t, podWithHooks("web", "app", "{holdfast.dev/on-change: reload}"))
	c.apply(t, podFor("member", "{fsGroup: 4242}"))
	c.apply(t, podFor("stranger", "{fsGroup: 4243}"))
	wait := func(file, want string) {
		t.Helper()
		waittest.Until(t, file+" says "+want, func() bool {
			data, err := os.ReadFile(file)
			return err == nil && strings.TrimSpace(string(data)) == want
		})
	}
	named := filepath.Join(h.config.Root, "by-name", c.namespace)
	wait(filepath.Join(named, "web", "conf", "app.conf"), "one")
	wait(filepath.Join(out, "reload"), "65534\none")
	c.waitForCondition(t, "web", "True", "")
	c.waitForCondition(t, "member", "True", "")
	for file, want := range map[string]string{"conf/app.conf": "0644 4242", "key/password": "0440 4242", "key/token": "0640 4242"} {
		if got := permissions(t, filepath.Join(named, "member", file)); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	c.waitForCondition(t, "stranger", "False", "volume conf: the files cannot be given to group 4243")

	h.stop(t)
	c.setData(t, "app", "two")
	h.start(t, c)
	wait(filepath.Join(named, "web", "conf", "app.conf"), "two")
	wait(filepath.Join(out, "reload"), "65534\ntwo")
	wait(filepath.Join(named, "member", "conf", "app.conf"), "two")
	c.waitForCondition(t, "web", "True", "")
}

// openCopy returns the path of a program in a directory that every user can read. "go test" builds
// in a directory that only its own user can read.
func openCopy(t *testing.T, program string) string {
	t.Helper()
	copied := filepath.Join(openDir(t), "program")
	if os.Link(program, copied) == nil {
		return copied
	}
	if text, err := exec.Command("cp", program, copied).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return copied
}

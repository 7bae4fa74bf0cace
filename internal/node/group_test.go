package node_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"syscall"
	"testing"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// podFor returns a Pod in YAML with two volumes and a security context, which is YAML in flow
// style.
func podFor(name, context string) string {
	return fmt.Sprintf("{kind: Pod, metadata: {name: %s}, spec: {nodeName: n1, automountServiceAccountToken: false, "+
		"securityContext: %s, volumes: [{name: conf, configMap: {name: app}}, "+
		"{name: key, projected: {defaultMode: 0400, sources: [{secret: {name: key}}, {serviceAccountToken: {path: token}}]}}]}}",
		name, context)
}

// permissions returns the mode and the group of a file, such as "0644 4242".
func permissions(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("%T", info.Sys())
	}
	return fmt.Sprintf("%04o %d", info.Mode().Perm(), stat.Gid)
}

// TestGroups checks that the pod, or else the flag, decides the group and the modes of files and
// directories, that a process of that group can read them, and that the umask has no effect. The
// umask belongs to the whole process, so this test is not parallel.
func TestGroups(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: only root can set the group of a file to any group")
	}
	umask := syscall.Umask(0o077)
	defer syscall.Umask(umask)
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}
---
{kind: Secret, metadata: {name: key}, stringData: {password: hunter2}}`)
	root := filepath.Join(openDir(t), "root")
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, node.Config{Name: "n1", Root: root, FilesGroup: "4243"})
	tests := map[string]struct {
		context               string
		conf, password, token string
		group                 int
	}{
		"fs-group":     {"{fsGroup: 4242, runAsUser: 65534}", "0644 4242", "0440 4242", "0640 4242", 4242},
		"run-as-group": {"{runAsUser: 65534, runAsGroup: 4244}", "0644 4244", "0400 4244", "0640 4244", 4244},
		"run-as-user":  {"{runAsUser: 65534}", "0644 65534", "0400 65534", "0640 65534", 65534},
		"unknown-user": {"{runAsUser: 424242}", "0644 4243", "0400 4243", "0640 4243", 4243},
		"flag":         {"{}", "0644 4243", "0400 4243", "0400 4243", 4243},
	}
	for name, test := range tests {
		c.apply(t, podFor(name, test.context))
		c.waitForCondition(t, name, "True", "")
		for file, want := range map[string]string{
			"conf/app.conf": test.conf, "key/password": test.password, "key/token": test.token, "../../..": "0755 0",
			"..": fmt.Sprintf("0750 %d", test.group), "conf": "0755 0", "conf/..data": "0755 0",
		} {
			if got := permissions(t, a.path(c, t, name, file)); got != want {
				t.Errorf("%s: %s: %s, want %s", name, file, got, want)
			}
		}
		cat := exec.Command("cat", filepath.Join(root, "by-name", c.namespace, name, "conf", "app.conf"))
		cat.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4240, Gid: uint32(test.group)}}
		if out, err := cat.CombinedOutput(); err != nil || string(out) != "one" {
			t.Errorf("%s: a process of group %d reads %s, %v", name, test.group, out, err)
		}
	}

	// A restart with another group changes the group of the files.
	a.stop(t)
	a = c.startAgentAs(t, credential, node.Config{Name: "n1", Root: root, FilesGroup: "4245"})
	waittest.Until(t, "the files have the new group", func() bool {
		return permissions(t, a.path(c, t, "flag", "conf/app.conf")) == "0644 4245" && permissions(t, a.path(c, t, "flag", "..")) == "0750 4245"
	})
}

// TestHooksReadFilesOfGroups checks that a hook can read the files of a pod with an fsGroup that
// the user of the hook has on the host, and that a pod cannot give a hook any other group.
func TestHooksReadFilesOfGroups(t *testing.T) {
	t.Parallel()
	dir := hooksDir(t, map[string]string{"check": `grep -q hunter2 "$HOLDFAST_VOLUME_PATH/password"`})
	c := startCluster(t)
	c.apply(t, `{kind: Secret, metadata: {name: key}, stringData: {password: hunter2}}`)
	a := c.startAgent(t, node.Config{Name: "n1", Root: filepath.Join(openDir(t), "root"), HooksDir: dir, HooksUser: "nobody"})
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	for name, group := range map[string]string{"member": nobody.Gid, "stranger": "4242", "of-root": "0"} {
		c.apply(t, `{kind: Pod, metadata: {name: `+name+`, annotations: {holdfast.dev/check: check}}, `+
			`spec: {nodeName: n1, automountServiceAccountToken: false, securityContext: {fsGroup: `+group+`}, `+
			`volumes: [{name: key, secret: {secretName: key, defaultMode: 0400}}]}}`)
	}
	a.waitForFile(c, t, "member", "key/password", "hunter2")
	c.waitForCondition(t, "stranger", "False", "because user nobody is not in their group 4242")
	c.waitForCondition(t, "of-root", "False", "because user nobody is not in their group 0")
}

// TestNameLinks checks that the path with the name of a pod leads to its files, also in the moment
// in which another pod of the name replaces it, and is removed with the last pod of the name.
func TestNameLinks(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: first}, data: {app.conf: one}}
---
{kind: ConfigMap, metadata: {name: second}, data: {app.conf: two}}`)
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: first}}]`))
	c.waitForCondition(t, "web", "True", "")
	before := a.path(c, t, "web", "..")
	a.stop(t)
	c.deletePodNow(t, "web")
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: second}}]`))
	a = c.startAgentAs(t, credential, node.Config{Name: "n1", Root: a.root})
	named := filepath.Join(a.root, "by-name", c.namespace, "web", "conf", "app.conf")
	for content := ""; content != "two"; {
		data, err := os.ReadFile(named)
		if err != nil || string(data) != "one" && string(data) != "two" {
			t.Fatalf("%q, %v", data, err)
		}
		content = string(data)
	}
	waittest.Until(t, "the files of the first pod are removed", func() bool {
		_, err := os.Lstat(before)
		return os.IsNotExist(err)
	})
	if data, err := os.ReadFile(named); err != nil || string(data) != "two" {
		t.Errorf("%q, %v", data, err)
	}
	c.deletePodNow(t, "web")
	waittest.Until(t, "the links are removed", func() bool {
		left, err := fs.Glob(os.DirFS(a.root), "by-name/*")
		return err == nil && len(left) == 0
	})
}

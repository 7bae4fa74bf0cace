package node_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// hooksDir is a directory with hooks, by name and script.
func hooksDir(t *testing.T, scripts map[string]string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("hooks belong to root")
	}
	dir := t.TempDir()
	for parent := dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func hookedPod(name, annotations string) string {
	return fmt.Sprintf("{kind: Pod, metadata: {name: %s, annotations: %s}, spec: {nodeName: n1, automountServiceAccountToken: false, volumes: [{name: conf, configMap: {name: app}}]}}", name, annotations)
}

func TestHooks(t *testing.T) {
	out := t.TempDir()
	if err := os.Chmod(out, 0o777); err != nil {
		t.Fatal(err)
	}
	for parent := filepath.Dir(out); parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := hooksDir(t, map[string]string{
		// Who and what it is told goes to a file, with what it reads.
		"reload": `{ id -un; echo "$#"; env | grep -v -e PWD -e _= -e SHLVL | sort; cat "$HOLDFAST_VOLUME_PATH/app.conf"; echo; } >` + out + `/reload.tmp && mv ` + out + `/reload.tmp ` + out + `/reload`,
		"check":  `! grep -q bad "$HOLDFAST_VOLUME_PATH/app.conf"`,
		"fails":  `exit 3`,
	})
	root := t.TempDir()
	for parent := root; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1", Root: root, HooksDir: dir, HooksUser: "nobody"})
	c.apply(t, hookedPod("web", `{holdfast.dev/on-change: reload, holdfast.dev/check: check}`))
	ran := func(content string) {
		t.Helper()
		want := fmt.Sprintf("nobody\n0\nHOLDFAST_POD_UID=%s\nHOLDFAST_VOLUME_PATH=%s\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n%s\n",
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
	c.setData(t, "app", "two", "")
	ran("two")
	c.condition(t, "web", "True", "")

	// What the check refuses is not published, and said.
	c.setData(t, "app", "bad", "")
	c.condition(t, "web", "False", `volume conf: hook "check" of holdfast.dev/check: exit status 1`)
	a.sees(c, t, "web", "conf/app.conf", "two")
	c.setData(t, "app", "three", "")
	a.sees(c, t, "web", "conf/app.conf", "three")
	ran("three")
	c.condition(t, "web", "True", "")

	// A pod is not pinned to immutable content that the check refused.
	c.apply(t, `{kind: ConfigMap, metadata: {name: fixed}, immutable: true, data: {app.conf: bad}}`)
	c.apply(t, `{kind: Pod, metadata: {name: fixed, annotations: {holdfast.dev/check: check}}, spec: {nodeName: n1, automountServiceAccountToken: false, volumes: [{name: conf, configMap: {name: fixed}}]}}`)
	c.condition(t, "fixed", "False", `hook "check" of holdfast.dev/check: exit status 1`)
	c.recreate(t, "fixed", `{kind: ConfigMap, metadata: {name: fixed}, immutable: true, data: {app.conf: good}}`)
	a.sees(c, t, "fixed", "conf/app.conf", "good")

	for name, test := range map[string]struct{ hook, want string }{
		"none":  {"gone", `hook "gone" of holdfast.dev/on-change: there is no such hook on this node`},
		"slash": {"../reload", `hook "../reload" of holdfast.dev/on-change: must be the name of a file in the directory of hooks`},
		"fails": {"fails", `hook "fails" of holdfast.dev/on-change: exit status 3`},
	} {
		c.apply(t, hookedPod(name, "{holdfast.dev/on-change: "+test.hook+"}"))
		c.condition(t, name, "False", test.want)
		a.sees(c, t, name, "conf/app.conf", "three")
	}
}

// TestHooksTakeTooLong: a hook that is not done in its time is killed with
// everything it started; what it was to check is not published.
func TestHooksTakeTooLong(t *testing.T) {
	out := filepath.Join(t.TempDir(), "started")
	dir := hooksDir(t, map[string]string{"slow": "sleep 100000 & echo $! >>" + out + "; wait"})
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root", HooksLimit: 300 * time.Millisecond})
	c.apply(t, hookedPod("checked", "{holdfast.dev/check: slow}"))
	c.condition(t, "checked", "False", `volume conf: hook "slow" of holdfast.dev/check: not done in 300ms`)
	if _, err := os.Lstat(a.path(c, t, "checked", "conf/app.conf")); !os.IsNotExist(err) {
		t.Errorf("what was not checked is published: %v", err)
	}
	c.apply(t, hookedPod("told", "{holdfast.dev/on-change: slow}"))
	c.condition(t, "told", "False", `volume conf: hook "slow" of holdfast.dev/on-change: not done in 300ms`)
	a.sees(c, t, "told", "conf/app.conf", "one")
	a.stop(t)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		pid := number(t, strings.TrimSpace(line))
		servertest.Eventually(t, "what a hook started is gone", func() bool {
			return !running(pid)
		})
	}
	// Without a word about it hooks have half a minute.
	unlimited, err := node.New(node.Config{Client: c.admin, Name: "n1", Root: t.TempDir(), HooksDir: dir, HooksUser: "root"})
	if err != nil {
		t.Fatal(err)
	}
	if got := unlimited.HookTime(); got != 30*time.Second {
		t.Errorf("hooks have %s", got)
	}
}

// running reports whether a process is there and not just waited for.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// TestHooksOff: without a directory an annotation is nothing.
func TestHooksOff(t *testing.T) {
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, hookedPod("web", `{holdfast.dev/on-change: reload, holdfast.dev/check: check}`))
	a.sees(c, t, "web", "conf/app.conf", "one")
	c.condition(t, "web", "True", "")
}

func TestHooksRefused(t *testing.T) {
	good := hooksDir(t, map[string]string{"reload": "true"})
	writable := hooksDir(t, nil)
	if err := os.Chmod(writable, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	theirs := hooksDir(t, nil)
	if err := os.Chown(theirs, 65534, 0); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(theirs, "below")
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
		"no user":               {good, "", "--hooks-dir: name with --hooks-user who hooks run as"},
		"no directory":          {"", "nobody", "--hooks-user: there are no hooks without --hooks-dir"},
		"no such user":          {good, "nobody-at-all", "--hooks-user nobody-at-all: no such user"},
		"no such directory":     {good + "/x", "nobody", "--hooks-dir: lstat " + good + "/x: no such file or directory"},
		"a file":                {good + "/reload", "nobody", "--hooks-dir: " + good + "/reload: not a directory"},
		"writable by others":    {writable, "nobody", "--hooks-dir: " + writable + ": must not be writable by others than root, and has mode dtrwxrwxrwx"},
		"somebody else's":       {theirs, "nobody", "--hooks-dir: " + theirs + ": must belong to root"},
		"below somebody else's": {below, "nobody", "--hooks-dir: " + theirs + ": must belong to root"},
		"below a sticky one":    {replaceable, "nobody", "--hooks-dir: " + sticky + ": must belong to root"},
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
	// A hook is looked at each time it is to run.
	for name, test := range map[string]struct {
		spoil func(file string) error
		want  string
	}{
		"writable":   {func(file string) error { return os.Chmod(file, 0o777) }, "must not be writable by others than root"},
		"theirs":     {func(file string) error { return os.Chown(file, 65534, 0) }, "must belong to root"},
		"link":       {func(file string) error { return os.Symlink("/bin/true", file+"x") }, ""},
		"not-to-run": {func(file string) error { return os.Chmod(file, 0o644) }, "not executable"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := hooksDir(t, map[string]string{"reload": "true"})
			if err := test.spoil(filepath.Join(dir, "reload")); err != nil {
				t.Fatal(err)
			}
			hook, want := "reload", test.want
			if want == "" {
				hook, want = "reloadx", "not a regular file"
			}
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
			c.startAgent(t, node.Config{Name: "n1", HooksDir: dir, HooksUser: "root"})
			c.apply(t, hookedPod("web", "{holdfast.dev/on-change: "+hook+"}"))
			c.condition(t, "web", "False", want)
		})
	}
}

func TestRegisters(t *testing.T) {
	c := startCluster(t)
	a := c.startAgent(t, node.Config{Name: "n1", Version: "test"})
	servertest.Eventually(t, "the node is ready and has its lease", func() bool {
		obj, err := c.admin.CoreV1().Nodes().Get(t.Context(), a.name, metav1.GetOptions{})
		if err != nil || len(obj.Status.Conditions) == 0 {
			return false
		}
		lease, err := c.admin.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), a.name, metav1.GetOptions{})
		return err == nil && *lease.Spec.HolderIdentity == a.name && *lease.Spec.LeaseDurationSeconds == 40 &&
			obj.Status.Conditions[0].Status == "True" && strings.HasSuffix(obj.Status.NodeInfo.KubeletVersion, "test")
	})
}

package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/holdfast/internal/node"
)

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

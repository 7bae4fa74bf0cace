package node_test

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/node"
)

// findBad is a check hook that looks for wrong content. It accepts what it cannot read.
var findBad = map[string]string{"check": `! grep -rqs bad "$HOLDFAST_VOLUME_PATH"`}

// TestRelativeRoot checks that a check hook gets a path that leads to the files, although it runs in another
// directory than the agent. The directory belongs to the whole process, so this test is not parallel.
func TestRelativeRoot(t *testing.T) {
	dir := hooksDir(t, findBad)
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: bad}}`)
	t.Chdir(t.TempDir())
	a := c.startAgent(t, node.Config{Name: "n1", Root: "root", HooksDir: dir, HooksUser: "root"})
	if !filepath.IsAbs(a.Root) {
		t.Errorf("the root of the agent is %s", a.Root)
	}
	c.apply(t, podWithHooks("web", "app", "{holdfast.dev/check: check}"))
	c.waitForCondition(t, "web", "False", `hook "check" of holdfast.dev/check: exit status 1`)
	c.setData(t, "app", "good")
	a.waitForFile(c, t, "web", "conf/app.conf", "good")
	volumes, err := node.ReadStatus("root")
	if err != nil || len(volumes) != 1 || !filepath.IsAbs(volumes[0].Path) {
		t.Errorf("volumes %+v, %v", volumes, err)
	}
}

// TestCheckCannotRead checks that files which a check hook cannot read are not published.
func TestCheckCannotRead(t *testing.T) {
	t.Parallel()
	dir := hooksDir(t, findBad)
	if _, err := user.Lookup("nobody"); err != nil {
		t.Skip("needs the user nobody")
	}
	closed := openDir(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ parent, context, mode, message string }{
		"the group of the pod":   {openDir(t), "{fsGroup: 4242}", "0440", "user nobody cannot enter"},
		"the mode of the files":  {openDir(t), "{}", "0400", "user nobody cannot read app.conf (mode -r--------)"},
		"the parent of the root": {closed, "{}", "0444", "user nobody cannot enter " + closed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: bad}}`)
			a := c.startAgent(t, node.Config{Name: "n1", Root: filepath.Join(test.parent, "root"), HooksDir: dir, HooksUser: "nobody"})
			c.apply(t, `{kind: Pod, metadata: {name: web, annotations: {holdfast.dev/check: check}}, spec: {nodeName: n1, `+
				`automountServiceAccountToken: false, securityContext: `+test.context+
				`, volumes: [{name: conf, configMap: {name: app, defaultMode: `+test.mode+`}}]}}`)
			c.waitForCondition(t, "web", "False", test.message)
			if _, err := os.Stat(a.path(c, t, "web", "conf/app.conf")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is published: %v", err)
			}
			if strings.Contains(test.context, "fsGroup") {
				c.waitForCondition(t, "web", "False", "is not in their group 4242")
			}
		})
	}
}

package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// waitForEvent waits for an Event about a pod of this type, with this text in its message.
func (c *cluster) waitForEvent(t testing.TB, pod, eventType, message string) {
	t.Helper()
	waittest.Until(t, "event "+eventType+" of pod "+pod+": "+message, func() bool {
		events, err := c.admin.CoreV1().Events(c.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events.Items {
			if event.InvolvedObject.Kind == "Pod" && event.InvolvedObject.Name == pod &&
				event.Type == eventType && strings.Contains(event.Message, message) {
				return true
			}
		}
		return false
	})
}

// TestMissingObjects checks that the condition and the Events of a pod name missing objects and
// keys, and that the volumes become ready when these are created.
func TestMissingObjects(t *testing.T) {
	t.Parallel()
	for name, config := range modes {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			a := c.startAgent(t, config)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}, `+
				`{name: key, secret: {secretName: key, items: [{key: password, path: pw}]}}]`))
			c.waitForCondition(t, "web", "False",
				"volume conf: configmap "+c.namespace+"/app not found\nvolume key: secret "+c.namespace+"/key not found")
			c.waitForEvent(t, "web", "Warning", "configmap "+c.namespace+"/app not found")

			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
			c.apply(t, `{kind: Secret, metadata: {name: key}, stringData: {user: me}}`)
			a.waitForFile(c, t, "web", "conf/app.conf", "one")
			c.waitForCondition(t, "web", "False", "secret "+c.namespace+"/key: key password not found")
			key, err := c.admin.CoreV1().Secrets(c.namespace).Get(t.Context(), "key", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			key.Data["password"] = []byte("hunter2")
			if _, err := c.admin.CoreV1().Secrets(c.namespace).Update(t.Context(), key, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			a.waitForFile(c, t, "web", "key/pw", "hunter2")
			c.waitForCondition(t, "web", "True", "")
			c.waitForEvent(t, "web", "Normal", "all volumes are ready")
		})
	}
}

// TestObjectDeleted checks that the files of a volume stay when its object is deleted, and that
// they are removed if the object is optional.
func TestObjectDeleted(t *testing.T) {
	t.Parallel()
	for name, config := range modes {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
			a := c.startAgent(t, config)
			c.apply(t, pod("web", "n1", `[{name: must, configMap: {name: app}}, {name: may, configMap: {name: app, optional: true}}, `+
				`{name: never, secret: {secretName: never, optional: true}}]`))
			a.waitForFile(c, t, "web", "must/app.conf", "one")
			a.waitForFile(c, t, "web", "may/app.conf", "one")
			c.waitForCondition(t, "web", "True", "")
			if _, err := os.Readlink(a.path(c, t, "web", "never/..data")); err != nil {
				t.Errorf("optional and missing: %v", err)
			}
			c.deleteConfigMap(t, "app")
			c.waitForCondition(t, "web", "False", "volume must: configmap "+c.namespace+"/app not found")
			waittest.Until(t, "the optional volume is empty", func() bool {
				_, err := os.Lstat(a.path(c, t, "web", "may/app.conf"))
				return os.IsNotExist(err)
			})
			a.waitForFile(c, t, "web", "must/app.conf", "one")
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: two}}`)
			a.waitForFile(c, t, "web", "must/app.conf", "two")
			a.waitForFile(c, t, "web", "may/app.conf", "two")
			c.waitForCondition(t, "web", "True", "")
		})
	}
}

// TestImmutableWithoutKey checks that a pod is not pinned to an immutable object that lacks a
// key, so it gets the object that is created next under this name.
func TestImmutableWithoutKey(t *testing.T) {
	t.Parallel()
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {other: one}}`)
			a := c.startAgent(t, config)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app, items: [{key: app.conf, path: app.conf}]}}]`))
			c.waitForCondition(t, "web", "False", "key app.conf not found")
			c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
			a.waitForFile(c, t, "web", "conf/app.conf", "two")
			c.waitForCondition(t, "web", "True", "")
		})
	}
}

// TestFileModes checks the modes of files and directories, and that records contain neither the
// content of Secrets nor a plain hash of it.
func TestFileModes(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	a := c.startAgent(t, modes["one watch for all"])
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app, defaultMode: 384}}, `+
		`{name: key, secret: {secretName: key, items: [{key: password, path: a/b, mode: 256}]}}]`))
	a.waitForFile(c, t, "web", "key/a/b", "hunter2")
	uid := c.uid(t, "web")
	for path, want := range map[string]os.FileMode{
		"pods/" + uid: 0o750 | os.ModeDir, "pods/" + uid + "/volumes/conf/app.conf": 0o600, "pods/" + uid + "/volumes/key/a/b": 0o400,
		"state": 0o700 | os.ModeDir, "state/key": 0o600, "state/pods/" + uid + ".json": 0o600,
	} {
		info, err := os.Stat(filepath.Join(a.root, path))
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode() != want {
			t.Errorf("%s: mode %v, want %v", path, info.Mode(), want)
		}
	}
	record, err := os.ReadFile(filepath.Join(a.root, "state/pods/"+uid+".json"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(record)
	if strings.Contains(text, "hunter2") || strings.Count(text, `"hmac-sha256:`) != 2 || strings.Count(text, `"sha256:`) != 2 {
		t.Errorf("record %s", text)
	}
}

package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// dataLinks returns the targets of the ..data links of all volumes. A volume that was written
// again has another target.
func dataLinks(t *testing.T, root string) map[string]string {
	t.Helper()
	links, err := filepath.Glob(filepath.Join(root, "pods/*/volumes/*/..data"))
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string]string{}
	for _, link := range links {
		if sets[link], err = os.Readlink(link); err != nil {
			t.Fatal(err)
		}
	}
	return sets
}

// TestServerDown checks that volumes stay as they are while the server is down, also if the agent
// is restarted. When the server is back, only volumes that changed are written.
func TestServerDown(t *testing.T) {
	t.Parallel()
	for name, config := range pinning {
		t.Run(name, func(t *testing.T) {
			address := apiserver.Config{DataDir: t.TempDir(), Port: servertest.FreePort(t)}
			server := servertest.Start(t, address)
			c := clusterOf(t, server)
			c.apply(t, immutableObjects+`
---
{kind: ConfigMap, metadata: {name: mutable}, data: {app.conf: one}}`)
			credential := c.credential(t, "n1")
			a := c.startAgentAs(t, credential, config)
			// With its token volume, the pod has four volumes.
			c.apply(t, `{kind: Pod, metadata: {name: web}, spec: {nodeName: n1, volumes: [{name: conf, configMap: {name: app}}, `+
				`{name: key, secret: {secretName: key}}, {name: mutable, configMap: {name: mutable}}]}}`)
			c.waitForCondition(t, "web", "True", "")
			sets := dataLinks(t, a.root)
			if len(sets) != 4 {
				t.Fatalf("volumes %v", sets)
			}
			uid := c.uid(t, "web")
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}

			// Simulate what a crash can leave in one volume, and a file that was changed in
			// another.
			a.stop(t)
			volumes := filepath.Join(a.root, "pods", uid, "volumes")
			if err := os.Symlink("nowhere", filepath.Join(volumes, "conf/..data_tmp")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(volumes, "mutable/app.conf"), []byte("evil"), 0o600); err != nil {
				t.Fatal(err)
			}
			problems := map[string]string{}
			status, err := node.ReadStatus(a.root)
			if err != nil {
				t.Fatal(err)
			}
			for _, volume := range status {
				if volume.Problem != nil {
					problems[volume.Volume] = volume.Problem.Error()
				}
			}
			want := map[string]string{"mutable": "files are damaged: their digest differs from that of the files that the agent wrote"}
			if diff := cmp.Diff(want, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			config.Root = a.root
			a = c.startAgentAs(t, credential, config)
			waittest.Until(t, "the agent has removed the leftover and found the damage", func() bool {
				_, err := os.Lstat(filepath.Join(volumes, "conf/..data_tmp"))
				return os.IsNotExist(err) && a.gauge(t, "holdfast_node_oldest_unrefreshed_volume_seconds") > 0
			})
			if diff := cmp.Diff(sets, dataLinks(t, a.root)); diff != "" {
				t.Errorf("volumes changed while the server was down (-before +after):\n%s", diff)
			}

			// Start the server again at the same address.
			server = servertest.Start(t, address)
			c.Server, c.admin = server, server.Client(t)
			a.waitForFile(c, t, "web", "mutable/app.conf", "one")
			c.setData(t, "mutable", "two")
			a.waitForFile(c, t, "web", "mutable/app.conf", "two")
			after := dataLinks(t, a.root)
			for link, set := range sets {
				if strings.Contains(link, "/mutable/") {
					continue
				}
				if after[link] != set {
					t.Errorf("%s was written again", link)
				}
			}
			if got := a.requests.count("GET", "/namespaces/"+c.namespace+"/secrets/key"); got != 0 {
				t.Errorf("the immutable Secret was requested %d times", got)
			}
		})
	}
}

// TestRestoredWithoutServer checks that an agent that starts without a server restores damaged and
// missing files of immutable objects from its own state.
func TestRestoredWithoutServer(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	c := clusterOf(t, server)
	c.apply(t, immutableObjects)
	credential := c.credential(t, "n1")
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app, items: [{key: app.conf, path: etc/app.conf, mode: 0600}]}}, `+
		`{name: key, projected: {sources: [{secret: {name: key}}, {configMap: {name: none, optional: true}}]}}]`))
	c.waitForCondition(t, "web", "True", "")
	volumes := a.path(c, t, "web", "")
	a.stop(t)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(volumes, "conf/etc/app.conf"), []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(volumes, "key")); err != nil {
		t.Fatal(err)
	}
	c.startAgentAs(t, credential, node.Config{Name: "n1", Root: a.root})
	for file, want := range map[string]string{"conf/etc/app.conf": "one", "key/password": "hunter2"} {
		waittest.Until(t, file+" is restored", func() bool {
			data, err := os.ReadFile(filepath.Join(volumes, file))
			return err == nil && string(data) == want
		})
	}
	if info, err := os.Stat(filepath.Join(volumes, "conf/etc/app.conf")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestFullRoot checks that an agent starts on a root without free space, and removes the files of
// pods that are gone.
func TestFullRoot(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mount("none", root, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("needs the right to mount a tmpfs, which becomes the full root: %v", err)
	}
	defer func() { _ = syscall.Unmount(root, syscall.MNT_DETACH) }()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	config := c.credential(t, "n1")
	claim := node.Claim{Name: "n1" + c.suffix, Root: root}
	// start keeps the credential in the root and starts the agent, as the command does.
	start := func() (a *agent, stop func()) {
		t.Helper()
		own := rest.CopyConfig(config)
		credential, err := node.KeepCredential(own, claim)
		if err != nil {
			t.Fatal(err)
		}
		a = c.startAgentAs(t, own, node.Config{Name: "n1", Root: root, Credential: credential})
		return a, func() {
			a.stop(t)
			if err := credential.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	a, stop := start()
	c.apply(t, pod("web", "n1", bothVolumes))
	c.waitForCondition(t, "web", "True", "")
	if expires := a.gauge(t, "holdfast_node_certificate_expiration_timestamp_seconds"); expires < float64(time.Now().Unix()) {
		t.Errorf("the certificate expires at %v", expires)
	}
	gone := a.path(c, t, "web", "..")
	stop()
	c.deletePodNow(t, "web")
	if err := os.WriteFile(filepath.Join(root, "filler"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the root is not full: %v", err)
	}
	_, stop = start()
	waittest.Until(t, "the files are removed", func() bool {
		_, err := os.Lstat(gone)
		return os.IsNotExist(err)
	})
	stop()
}

// TestRootOfAnotherNode checks that an agent refuses the root of another node, unless it may take
// it over.
func TestRootOfAnotherNode(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", bothVolumes))
	c.waitForCondition(t, "web", "True", "")
	gone := a.path(c, t, "web", "..")
	a.stop(t)
	other, err := node.New(node.Config{Client: c.admin, Name: "n2", Root: a.root})
	if err != nil {
		t.Fatal(err)
	}
	want := "has the volumes of node " + a.name + ", and this is the agent of node n2: use another --root, or --take-over"
	if err := other.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	c.startAgent(t, node.Config{Name: "n2", Root: a.root, TakeOver: true})
	waittest.Until(t, "the files of the other node are removed", func() bool {
		_, err := os.Lstat(gone)
		return os.IsNotExist(err)
	})
	for _, name := range []string{"Host", "a_b", "-a", "a.", ""} {
		if _, err := node.New(node.Config{Client: c.admin, Name: name, Root: t.TempDir()}); err == nil {
			t.Errorf("the name %q is accepted", name)
		}
	}
}

// TestSavedObjectLost checks what happens if the saved content of an immutable object is damaged
// on the host: the agent reads the object again if it still exists, and otherwise leaves the files
// as they are.
func TestSavedObjectLost(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: one}}`)
	credential := c.credential(t, "n1")
	config := node.Config{Name: "n1"}
	a := c.startAgentAs(t, credential, config)
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	c.waitForCondition(t, "web", "True", "")
	// restart restarts the agent and damages the saved object meanwhile.
	restart := func() {
		t.Helper()
		a.stop(t)
		lost, err := filepath.Glob(filepath.Join(a.root, "state/objects/*.json"))
		if err != nil || len(lost) != 1 {
			t.Fatalf("%v, %v", lost, err)
		}
		if err := os.WriteFile(lost[0], []byte(`{"uid":"other","data":{"app.conf":"ZXZpbA=="}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		config.Root = a.root
		a = c.startAgentAs(t, credential, config)
	}
	restart()
	waittest.Until(t, "the object is read again", func() bool {
		return a.requests.count("GET full", "/namespaces/"+c.namespace+"/configmaps/app") > 0
	})
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	c.recreate(t, "app", `{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: two}}`)
	restart()
	c.waitForCondition(t, "web", "False", "which this pod started with, is gone: the files stay as they are")
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
}

// TestStartFails checks that an agent does not start if another agent uses its root, or if its key
// is readable by other users.
func TestStartFails(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	a := c.startAgent(t, node.Config{Name: "n1"})
	waittest.Until(t, "the agent has its root", func() error {
		_, err := os.Stat(filepath.Join(a.root, "state/key"))
		return err
	})
	second, err := node.New(node.Config{Client: c.admin, Name: a.name, Root: a.root})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "is in use by another agent") {
		t.Errorf("a second agent: %v", err)
	}
	a.stop(t)
	if err := os.Chmod(filepath.Join(a.root, "state/key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "must be a file that only its owner may read") {
		t.Errorf("a key that others may read: %v", err)
	}
}

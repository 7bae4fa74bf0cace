package node_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// soakTime returns the duration in HOLDFAST_SOAK. Without it, it returns 0, and a test ends after
// its minimal number of rounds.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HOLDFAST_SOAK")
	if text == "" {
		return 0
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return duration
}

// TestSoakRecreated deletes immutable objects and creates them again, while pods are created and
// deleted and agents are restarted or killed. No file of a running pod may ever change. A pod that
// is created after an object gets this object. A pod that is created at the same time gets the old
// or the new one.
func TestSoakRecreated(t *testing.T) {
	t.Parallel()
	const atLeast, keep = 6, 5
	limit := soakTime(t)
	c := startCluster(t)
	s := &recreation{cluster: c, monitor: &fileMonitor{seen: map[string]string{}}, uids: map[string]string{}}
	hosts := []*host{
		{},
		{config: node.Config{WatchEach: true}},
		{},
		{process: true},
		{process: true, config: node.Config{WatchEach: true}},
	}
	for i, host := range hosts {
		host.config.Name = fmt.Sprintf("n%d", i)
		host.config.Root = t.TempDir()
		host.credential = c.credential(t, host.config.Name)
		host.start(t, c)
		s.hosts = append(s.hosts, host)
		s.monitor.roots = append(s.monitor.roots, host.config.Root)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() { s.monitor.run(ctx) })

	s.create(t, 0)
	n := 1
	for begin := time.Now(); n <= atLeast || time.Since(begin) < limit; n++ {
		s.round(t, n)
		// The pods of the first round stay until the end.
		if old := n - keep; old > 1 {
			s.remove(t, old)
		}
	}
	cancel()
	watching.Wait()
	for _, change := range s.monitor.changes {
		t.Error(change)
	}
	t.Logf("%d rounds on %d agents, %d restarts, %d kills, %d files watched, read %d times",
		n-1, len(s.hosts), s.restarts, s.kills, len(s.monitor.seen), s.monitor.reads)
}

// recreation is the state of TestSoakRecreated.
type recreation struct {
	*cluster
	hosts   []*host
	monitor *fileMonitor
	// uids holds the UIDs of all ConfigMaps that were created, by their content.
	uids            map[string]string
	restarts, kills int
}

// create creates the objects of a round.
func (s *recreation) create(t *testing.T, n int) {
	t.Helper()
	s.apply(t, fmt.Sprintf(`{kind: ConfigMap, metadata: {name: app}, immutable: true, data: {app.conf: "%[1]d"}}
---
{kind: Secret, metadata: {name: key}, immutable: true, stringData: {app.conf: "%[1]d"}}`, n))
	object, err := s.admin.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "app", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.uids[fmt.Sprint(n)] = string(object.UID)
}

const recreatedVolumes = `[{name: conf, configMap: {name: app}}, {name: key, secret: {secretName: key}}]`

// round deletes the objects and creates them again. It creates pods before, meanwhile and
// afterwards, and restarts two agents at the same time.
func (s *recreation) round(t *testing.T, n int) {
	t.Helper()
	var restarting sync.WaitGroup
	chosen := rand.Perm(len(s.hosts))[:2]
	for _, at := range chosen {
		host := s.hosts[at]
		if host.process {
			s.kills++
		} else {
			s.restarts++
		}
		restarting.Go(func() {
			host.stop(t)
			host.start(t, s.cluster)
		})
	}
	for i, host := range s.hosts {
		s.apply(t, pod(fmt.Sprintf("racing-%d-%d", n, i), host.config.Name, recreatedVolumes))
		if i != len(s.hosts)/2 {
			continue
		}
		core := s.admin.CoreV1()
		if err := core.ConfigMaps(s.namespace).Delete(t.Context(), "app", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := core.Secrets(s.namespace).Delete(t.Context(), "key", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.create(t, n)
	}
	for i, host := range s.hosts {
		s.apply(t, pod(fmt.Sprintf("after-%d-%d", n, i), host.config.Name, recreatedVolumes))
	}
	restarting.Wait()
	for i, host := range s.hosts {
		s.waitForVolumes(t, host, fmt.Sprintf("after-%d-%d", n, i), fmt.Sprint(n))
		s.waitForVolumes(t, host, fmt.Sprintf("racing-%d-%d", n, i), fmt.Sprint(n-1), fmt.Sprint(n))
		// The pods of the first round are pinned to its objects.
		s.waitForVolumes(t, host, fmt.Sprintf("after-1-%d", i), "1")
	}
}

// waitForVolumes waits until the volumes of a pod are ready. It fails unless each has one of the
// contents, and the pod is pinned to the object with this content.
func (s *recreation) waitForVolumes(t *testing.T, host *host, pod string, contents ...string) {
	t.Helper()
	s.waitForCondition(t, pod, "True", "")
	volumes := filepath.Join(host.config.Root, "pods", s.uid(t, pod), "volumes")
	conf := ""
	for _, volume := range []string{"conf", "key"} {
		data, err := os.ReadFile(filepath.Join(volumes, volume, "app.conf"))
		if err != nil {
			t.Fatalf("%s is ready: %v", pod, err)
		}
		if !slices.Contains(contents, string(data)) {
			t.Fatalf("%s: %s is %q, want one of %q", pod, volume, data, contents)
		}
		if volume == "conf" {
			conf = string(data)
		}
	}
	status, err := node.ReadStatus(host.config.Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, volume := range status {
		if volume.Pod != pod || volume.Volume != "conf" {
			continue
		}
		if source := volume.Sources[0]; source.Mode != "immutable" || string(source.UID) != s.uids[conf] {
			t.Fatalf("%s uses %+v, want UID %s", pod, source, s.uids[conf])
		}
		return
	}
	t.Fatalf("%s is ready, but has no record", pod)
}

// remove deletes the pods of a round and waits until their files are removed.
func (s *recreation) remove(t *testing.T, n int) {
	t.Helper()
	for i, host := range s.hosts {
		for _, when := range []string{"racing", "after"} {
			name := fmt.Sprintf("%s-%d-%d", when, n, i)
			dir := filepath.Join(host.config.Root, "pods", s.uid(t, name))
			s.monitor.ignore(dir)
			s.deletePod(t, name)
			waittest.Until(t, "the files of "+name+" are removed", func() bool {
				_, err := os.Lstat(dir)
				return os.IsNotExist(err)
			})
		}
	}
}

// fileMonitor reads the files of all pods again and again, and records every change.
type fileMonitor struct {
	roots []string

	mu sync.Mutex
	// seen holds the content of each file.
	seen    map[string]string
	ignored []string
	changes []string
	reads   int
}

// ignore excludes the directory of a pod that is going to be deleted.
func (w *fileMonitor) ignore(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ignored = append(w.ignored, dir+"/")
	maps.DeleteFunc(w.seen, func(file, _ string) bool { return strings.HasPrefix(file, dir+"/") })
}

func (w *fileMonitor) run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, root := range w.roots {
			files, err := filepath.Glob(filepath.Join(root, "pods/*/volumes/*/app.conf"))
			if err != nil {
				w.changes = append(w.changes, err.Error())
				return
			}
			for _, file := range files {
				w.check(file)
			}
		}
		for file := range w.known() {
			w.check(file)
		}
		time.Sleep(time.Millisecond) // leaves CPU time for the agents
	}
}

func (w *fileMonitor) known() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.seen)
}

func (w *fileMonitor) check(file string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, dir := range w.ignored {
		if strings.HasPrefix(file, dir) {
			return
		}
	}
	data, err := os.ReadFile(file)
	w.reads++
	before, had := w.seen[file]
	switch {
	case err != nil && had:
		w.changes = append(w.changes, fmt.Sprintf("%s: was %q, then %v", file, before, err))
	case err == nil && had && before != string(data):
		w.changes = append(w.changes, fmt.Sprintf("%s: was %q, then %q", file, before, data))
	case err == nil:
		w.seen[file] = string(data)
	}
}

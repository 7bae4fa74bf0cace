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

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// soakTime is zero without HOLDFAST_SOAK: then a test is done when it has seen a
// little.
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

// TestSoakRecreated deletes and recreates immutable objects while pods come and
// go, and agents are restarted or killed: no file of a running pod ever changes,
// a pod that came after an object was made gets that very one, and a pod that
// came while it was made gets the old one or the new one.
func TestSoakRecreated(t *testing.T) {
	const atLeast, keep = 6, 5
	limit := soakTime(t)
	c := startCluster(t)
	s := &recreation{cluster: c, watch: &fileWatch{seen: map[string]string{}}, uids: map[string]string{}}
	for i, host := range []*host{{}, {config: node.Config{WatchEach: true}}, {}, {process: true}, {process: true, config: node.Config{WatchEach: true}}} {
		host.config.Name = fmt.Sprintf("n%d", i)
		host.config.Root = t.TempDir()
		host.credential = c.credential(t, host.config.Name)
		host.start(t, c)
		s.hosts = append(s.hosts, host)
		s.watch.roots = append(s.watch.roots, host.config.Root)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() { s.watch.run(ctx) })

	s.create(t, 0)
	n := 1
	for begin := time.Now(); n <= atLeast || time.Since(begin) < limit; n++ {
		s.round(t, n)
		// The pods of the first round stay to the end.
		if old := n - keep; old > 1 {
			s.remove(t, old)
		}
	}
	cancel()
	watching.Wait()
	for _, change := range s.watch.changes {
		t.Error(change)
	}
	t.Logf("%d rounds on %d agents, %d restarts, %d kills, %d files watched, read %d times",
		n-1, len(s.hosts), s.restarts, s.kills, len(s.watch.seen), s.watch.reads)
}

// recreation is the state of TestSoakRecreated.
type recreation struct {
	*cluster
	hosts []*host
	watch *fileWatch
	// uids are those of the config maps there have been, by what they say.
	uids            map[string]string
	restarts, kills int
}

// create makes the objects of a round.
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

// round recreates the objects, with pods that come before, meanwhile and
// afterwards, and two agents that end in the middle of it.
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
		s.sees(t, host, fmt.Sprintf("after-%d-%d", n, i), fmt.Sprint(n))
		s.sees(t, host, fmt.Sprintf("racing-%d-%d", n, i), fmt.Sprint(n-1), fmt.Sprint(n))
		// A pod that came after the objects is pinned to them.
		s.sees(t, host, fmt.Sprintf("after-1-%d", i), "1")
	}
}

// sees waits until a pod has its volumes, with one of the contents each, and is
// pinned to the object that had it.
func (s *recreation) sees(t *testing.T, host *host, pod string, contents ...string) {
	t.Helper()
	s.condition(t, pod, "True", "")
	volumes := filepath.Join(host.config.Root, "pods", s.uid(t, pod), "volumes")
	conf := ""
	for _, volume := range []string{"conf", "key"} {
		data, err := os.ReadFile(filepath.Join(volumes, volume, "app.conf"))
		if err != nil {
			t.Fatalf("%s is ready: %v", pod, err)
		}
		if !slices.Contains(contents, string(data)) {
			t.Fatalf("%s: %s says %q, want one of %q", pod, volume, data, contents)
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
			t.Fatalf("%s is made of %+v, want UID %s", pod, source, s.uids[conf])
		}
		return
	}
	t.Fatalf("%s is ready, and there is no record of it", pod)
}

// remove deletes the pods of a round, and waits until their files are gone.
func (s *recreation) remove(t *testing.T, n int) {
	t.Helper()
	for i, host := range s.hosts {
		for _, when := range []string{"racing", "after"} {
			name := fmt.Sprintf("%s-%d-%d", when, n, i)
			dir := filepath.Join(host.config.Root, "pods", s.uid(t, name))
			s.watch.forget(dir)
			if err := s.admin.CoreV1().Pods(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			servertest.Eventually(t, "the files of "+name+" are gone", func() bool {
				_, err := os.Lstat(dir)
				return os.IsNotExist(err)
			})
		}
	}
}

// fileWatch reads the files of all pods over and over.
type fileWatch struct {
	roots []string

	mu        sync.Mutex
	seen      map[string]string
	forgotten []string
	changes   []string
	reads     int
}

// forget has the files of a pod left alone, which are to go.
func (w *fileWatch) forget(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgotten = append(w.forgotten, dir+"/")
	maps.DeleteFunc(w.seen, func(file, _ string) bool { return strings.HasPrefix(file, dir+"/") })
}

func (w *fileWatch) run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, root := range w.roots {
			files, err := filepath.Glob(filepath.Join(root, "pods/*/volumes/*/app.conf"))
			if err != nil {
				w.changes = append(w.changes, err.Error())
				return
			}
			for _, file := range files {
				w.look(file)
			}
		}
		for file := range w.known() {
			w.look(file)
		}
		time.Sleep(time.Millisecond) // the others need the machine too
	}
}

func (w *fileWatch) known() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.seen)
}

func (w *fileWatch) look(file string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, dir := range w.forgotten {
		if strings.HasPrefix(file, dir) {
			return
		}
	}
	data, err := os.ReadFile(file)
	w.reads++
	before, had := w.seen[file]
	switch {
	case err != nil && had:
		w.changes = append(w.changes, fmt.Sprintf("%s: said %q, then %v", file, before, err))
	case err == nil && had && before != string(data):
		w.changes = append(w.changes, fmt.Sprintf("%s: said %q, then %q", file, before, data))
	case err == nil:
		w.seen[file] = string(data)
	}
}

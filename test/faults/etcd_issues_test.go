package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast.dev/holdfast/internal/waittest"
)

// The tests of this file and of etcd_watches_test.go are named by the number that a defect has in the tracker of etcd. Each does what has shown
// the defect, on our program. In the short form, the program has no failpoints in etcd: it dies at our own failpoints beside those steps, or
// by SIGKILL.

// etcd 14370: a single member confirmed a write before it was in the log, and lost it in a crash.
func TestEtcd14370(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	program := buildBreakable(t)
	names := either([]string{"etcd:written"}, []string{
		"raftBeforeSave", "raftAfterSave", "walBeforeSync", "walAfterSync", "raftBeforeAdvance", "beforeApplyOneEntryNormal", "beforeCommit", "afterCommit",
	})
	server := newServer(filepath.Join(t.TempDir(), "data"))
	server.program = filepath.Join(program.dir, "holdfast")
	switches, env := newSwitches(t)
	server.env = env
	server.start(t)
	random := s.random("deaths")
	stored := &confirmed{versions: map[string]uint64{}}
	for round := range either(2, 5) * len(names) {
		stored.createUntilDeath(t, server, func() {
			p := program.point(t, names[round%len(names)])
			if err := switches.arm(p, fmt.Sprintf("%d*off->1*panic", random.IntN(40))); err != nil {
				t.Fatal(err)
			}
		}, fmt.Sprintf("r%d", round))
		server.start(t)
		stored.check(t, server.client.Load())
	}
	t.Logf("%d confirmed writes, all there", len(stored.versions))
}

// point returns the failpoint with a name.
func (b *breakable) point(t *testing.T, name string) point {
	t.Helper()
	for _, p := range b.points {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("the program has no failpoint %s", name)
	return point{}
}

// confirmed has the versions of created objects, by their names.
type confirmed struct {
	mutex    sync.Mutex
	versions map[string]uint64
}

const confirmedPath = "/api/v1/namespaces/default/configmaps"

// createUntilDeath calls arm, and lets clients create objects until the server has died.
func (n *confirmed) createUntilDeath(t *testing.T, s *server, arm func(), prefix string) {
	t.Helper()
	arm()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := s.client.Load()
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for number := 0; ctx.Err() == nil && !s.hasEnded(); number++ {
				name := fmt.Sprintf("%s-%d-%d", prefix, i, number)
				a := c.create(ctx, confirmedPath, objectOf("{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}"))
				if a.outcome == acknowledged {
					n.mutex.Lock()
					n.versions[name] = a.version()
					n.mutex.Unlock()
				}
			}
		})
	}
	waittest.Until(t, "the server dies", s.hasEnded)
	cancel()
	running.Wait()
	if !strings.Contains(s.output.String(), "failpoint panic") {
		t.Fatalf("the server ended for another reason: %s", s.output)
	}
}

// check compares the stored objects with the confirmed ones. Both have the same versions.
func (n *confirmed) check(t *testing.T, c *client) {
	t.Helper()
	list := c.get(t.Context(), confirmedPath)
	if list.err != nil {
		t.Fatal(list.err)
	}
	stored := map[string]uint64{}
	for _, object := range items(list.object) {
		stored[nameOf(object)] = versionOf(object)
	}
	for name, version := range n.versions {
		if stored[name] != version {
			t.Fatalf("%s was confirmed with version %d, and has %d now (0: it is lost)", name, version, stored[name])
		}
		if list.version() < version {
			t.Fatalf("the list has version %d, and %s was confirmed with %d", list.version(), name, version)
		}
	}
}

// etcd 14685: a member that died during a defragmentation applied writes twice after its start, and so got other revisions. Our server
// defragments a full database itself.
func TestEtcd14685(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	random := s.random("large")
	for _, name := range either([]string{"etcd:fullCompacted", "etcd:fullDefragmented", "etcd:fullCleared"}, []string{
		"etcd:fullCompacted", "etcd:fullDefragmented", "etcd:fullCleared", "compactBeforeCommitScheduledCompact", "compactAfterCommitScheduledCompact",
		"compactBeforeSetFinishedCompact", "compactAfterSetFinishedCompact", "defragBeforeCopy", "defragBeforeRename",
	}) {
		for range either(1, 2) {
			dieWhileFull(t, random, name)
		}
	}
}

// smallDatabase bounds the database of a server.
const smallDatabase = "etcd:quota=return(8388608);etcd:compactEvery=return(200000000)"

// dieWhileFull fills the database of a server with the history of one object. The server dies while it makes room. After the next start it
// has the object as it was confirmed, and makes room.
func dieWhileFull(t *testing.T, random *rand.Rand, name string) {
	t.Helper()
	program := buildBreakable(t)
	p := program.point(t, name)
	server := newServer(filepath.Join(t.TempDir(), "data"))
	server.program = filepath.Join(program.dir, "holdfast")
	switches, env := newSwitches(t)
	server.env = append([]string{"HOLDFAST_FAILPOINTS=" + smallDatabase}, env...)
	server.start(t)
	if err := switches.arm(p, "1*panic"); err != nil {
		t.Fatal(err)
	}
	c := server.client.Load()
	var last answer
	number, unclear := 0, false
	waittest.Until(t, "the server dies at "+name, func() bool {
		number++
		text := strings.Repeat(string('a'+rune(random.IntN(26))), 400<<10)
		body := objectOf(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: large}, data: {number: "%d", text: %s}}`, number, text))
		a := c.update(t.Context(), confirmedPath+"/large", body)
		if a.code == http.StatusNotFound {
			a = c.create(t.Context(), confirmedPath, body)
		}
		switch a.outcome {
		case acknowledged:
			last, unclear = a, false
		case open:
			unclear = true
		}
		return server.hasEnded()
	})
	if !strings.Contains(server.output.String(), "failpoint panic") {
		t.Fatalf("the server ended for another reason: %s", server.output)
	}
	server.start(t)
	c = server.client.Load()
	found := c.get(t.Context(), confirmedPath+"/large")
	if found.err != nil {
		t.Fatalf("%s: the object is lost: %v", name, found.err)
	}
	if found.version() != last.version() && (!unclear || found.version() < last.version()) {
		t.Fatalf("%s: the object was confirmed with version %d, and has %d", name, last.version(), found.version())
	}
	waittest.Until(t, "the server stores objects again after it died at "+name, func() error {
		small := objectOf("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: small-}}")
		return c.create(t.Context(), confirmedPath, small).err
	})
	if a := c.get(t.Context(), confirmedPath+"/large"); a.version() != found.version() {
		t.Fatalf("%s: the object has version %d after the database was made smaller, and had %d", name, a.version(), found.version())
	}
	server.kill()
}

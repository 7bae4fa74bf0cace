package faults_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A server is killed at random while clients write objects of all kinds and plans run. After each
// restart it has every acknowledged write and no deleted object, and its versions have not gone
// back. Watches see every change once and in order. In the end quotas, addresses, ports and plans
// agree with the objects.
func TestKill(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	const ports = 40
	server := newServer(filepath.Join(t.TempDir(), "data"),
		"--service-cluster-ip-range", "10.77.0.0/26", "--service-node-port-range", portRange(ports))
	server.start(t)
	prepare(t, server.client.Load())

	ledger := newLedger()
	writers := newWriters(s, ledger)
	watching, stop := context.WithCancel(t.Context())
	watchers := make([]*watcher, len(kinds))
	var running sync.WaitGroup
	for i, k := range kinds {
		watchers[i] = newWatcher(k)
		running.Go(func() { watchers[i].run(watching, server.client.Load) })
	}
	defer running.Wait()
	defer stop()

	random, total := s.random("kill"), rounds(t, 2, 100)
	for range total {
		writeUntilKilled(t, server, ledger, writers, 1+random.IntN(either(100, 300)))
		if random.IntN(4) == 0 {
			killDuringStart(t, server, random)
		}
		server.start(t)
		ledger.settle(t, server.client.Load())
		if t.Failed() {
			t.FailNow()
		}
	}
	if long() {
		// The server releases the claims of Services that were not stored after a minute, at its start.
		time.Sleep(time.Minute)
		server.kill()
		server.start(t)
	}
	c, resumed, listed := server.client.Load(), 0, 0
	checkPlans(t, c)
	for i, w := range watchers {
		w.check(t, c, ledger.versions[kinds[i]])
		resumed, listed = resumed+w.resumed, listed+w.listed
	}
	checkQuotas(t, c)
	checkServices(t, c, ports, int(ledger.opened.Load()))
	t.Logf("%d kills: %d acknowledged writes and %d without an answer; %d watches followed by %d lists",
		total, ledger.count.Load(), ledger.opened.Load(), resumed, listed)
}

// writeUntilKilled lets all writers write, and kills the server after the given number of acknowledged
// writes.
func writeUntilKilled(t *testing.T, s *server, l *ledger, writers []*writer, writes int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	for _, w := range writers {
		running.Go(func() { w.run(ctx, t, s.client.Load()) })
	}
	l.await(t, l.count.Load()+int64(writes))
	s.kill()
	running.Wait()
}

// killDuringStart starts the server and kills it, mostly before it is ready.
func killDuringStart(t *testing.T, s *server, random *rand.Rand) {
	t.Helper()
	p := start(t, "holdfast", s.flags...)
	time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
	p.kill()
}

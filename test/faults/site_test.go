package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/waittest"
)

// sitePorts is the number of node ports of a site. Failed writes leave claims of ports for a while.
const sitePorts = 120

// bounds are bounds of the server that a test lowers, so that it compacts all the time, and collects unused objects at once.
const bounds = "etcd:compactEvery=return(300000000);etcd:keepRevisions=return(200);collection:atLeast=return(100000000)"

// site is a server with failpoints, and its clients.
type site struct {
	t        *testing.T
	server   *server
	switches switches
	// env are the variables of the server.
	env      []string
	ledger   *ledger
	writers  []*writer
	chores   []chore
	watchers []*watcher
	random   *rand.Rand
	hits     map[string]*hits
	// endWatches ends the watches, and endLoad the clients that write.
	endWatches, endLoad func()
}

// newSite starts a server with failpoints and its clients.
func newSite(t *testing.T, s seed, program *breakable) *site {
	t.Helper()
	server := newServer(filepath.Join(t.TempDir(), "data"),
		"--service-cluster-ip-range", "10.77.0.0/24", "--service-node-port-range", portRange(sitePorts))
	server.program = filepath.Join(program.dir, "holdfast")
	ledger := newLedger()
	site := &site{
		t: t, server: server, ledger: ledger, writers: newWriters(s, ledger), random: s.random("failpoints"), hits: map[string]*hits{},
	}
	site.switches, site.env = newSwitches(t)
	site.start(bounds)
	c := server.client.Load()
	prepare(t, c)
	// The server records the history of each write in this namespace.
	if a := c.patch(t.Context(), "/api/v1/namespaces/faults", map[string]any{"metadata": map[string]any{
		"labels": map[string]any{"holdfast.dev/history": "fields"},
	}}); a.err != nil {
		t.Fatal(a.err)
	}
	site.chores = newChores(t, c)
	site.watch()
	site.load()
	return site
}

// start starts the server with failpoints that are armed from the start.
func (s *site) start(armed string) {
	s.t.Helper()
	s.server.env = append([]string{"HOLDFAST_FAILPOINTS=" + armed}, s.env...)
	s.server.start(s.t)
}

// watch watches all kinds that writers write.
func (s *site) watch() {
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	for _, k := range kinds {
		w := newWatcher(k)
		s.watchers = append(s.watchers, w)
		running.Go(func() { w.run(ctx, s.server.client.Load) })
	}
	s.endWatches = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	s.t.Cleanup(s.endWatches)
}

// load lets the clients write until endLoad is called, or the server ends.
func (s *site) load() {
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	p, c := s.server.process, s.server.client.Load()
	again := func(a answer) bool {
		if a.code == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		return ctx.Err() == nil && !p.hasEnded()
	}
	for _, w := range s.writers {
		running.Go(func() {
			for again(w.write(ctx, s.t, c)) {
			}
		})
	}
	for _, one := range s.chores {
		running.Go(func() {
			for again(one.do(ctx, c)) {
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	s.endLoad = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	s.t.Cleanup(s.endLoad)
}

// restart starts the server after it has ended, and checks what it has.
func (s *site) restart() {
	s.t.Helper()
	s.endLoad()
	s.start(bounds)
	s.settle()
	s.load()
}

// settle checks what the server has while no client writes.
func (s *site) settle() {
	s.t.Helper()
	c := s.server.client.Load()
	s.ledger.settle(s.t, c)
	for _, one := range s.chores {
		if err := one.settle(s.t.Context(), c); err != nil {
			s.t.Error(err)
		}
	}
	if s.t.Failed() {
		s.t.FailNow()
	}
}

// finish compares everything that the server has, after the last write.
func (s *site) finish() {
	s.t.Helper()
	s.endLoad()
	s.server.kill()
	if long() {
		time.Sleep(time.Minute) // the server then releases the claims of Services that were not stored
	}
	s.start(bounds)
	s.settle()
	c := s.server.client.Load()
	checkPlans(s.t, c)
	for i, w := range s.watchers {
		w.check(s.t, c, s.ledger.versions[kinds[i]])
	}
	s.endWatches()
	checkQuotas(s.t, c)
	checkServices(s.t, c, sitePorts, int(s.ledger.opened.Load()))
	for _, one := range s.chores {
		waittest.Until(s.t, one.name()+" ends", func() error { return one.end(s.t.Context(), c) })
	}
}

// exercise lets the server wait, fail and die at a failpoint.
func (s *site) exercise(p point) {
	s.t.Helper()
	h := &hits{}
	s.hits[p.name] = h
	waits := either(2, 18)
	if p.fails {
		waits = either(2, 10)
	}
	if h.waited = s.apply(p, fmt.Sprintf("%d*sleep(%d)->off", waits, 1+s.random.IntN(20)), waits, patience(p)); h.waited == 0 {
		if !long() {
			s.t.Fatalf("no client has reached %s in %s", p.name, patience(p))
		}
		return
	}
	if p.fails {
		n := either(2, 8)
		h.failed = s.apply(p, fmt.Sprintf(`%d*return("armed")->off`, n), n, time.Minute)
	}
	for range either(1, 2) {
		before := s.random.IntN(5)
		if s.apply(p, fmt.Sprintf("%d*off->1*panic", before), before+1, time.Minute) > before {
			h.died++
		}
	}
}

// patience is how long the clients try to reach a failpoint that none has reached before. After a death, the next leader of the controllers may have to
// wait until the Lease of the dead one has ended.
func patience(p point) time.Duration {
	if p.etcd {
		return either(time.Minute, 10*time.Second)
	}
	return either(time.Minute, 30*time.Second)
}

// apply arms a failpoint, and waits until the server has reached it a number of times, or has ended and is started again, or has not reached it
// again for a while. It returns how often the server has reached it.
func (s *site) apply(p point, actions string, times int, patience time.Duration) int {
	s.t.Helper()
	if s.server.hasEnded() {
		s.t.Fatalf("the server ended before %s: %s", p.name, s.server.output)
	}
	if err := s.switches.arm(p, actions); err != nil {
		s.t.Fatalf("arm %s: %v", p.name, err)
	}
	reached := 0
	for last := time.Now(); time.Since(last) < patience; time.Sleep(5 * time.Millisecond) {
		if s.server.hasEnded() {
			if !strings.Contains(actions, "panic") && !(p.etcd && strings.Contains(actions, "return")) {
				s.t.Fatalf("%s, %s: the server ended: %s", p.name, actions, s.server.output)
			}
			s.restart()
			return times
		}
		// The process may end at any time.
		if n, err := s.switches.count(p); err == nil && n > reached {
			reached, last = n, time.Now()
		}
		if reached >= times && !strings.Contains(actions, "panic") {
			break
		}
	}
	if err := s.switches.arm(p, "off"); err != nil && !s.server.hasEnded() {
		s.t.Fatalf("disarm %s: %v", p.name, err)
	}
	return min(reached, times)
}

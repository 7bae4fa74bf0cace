package faults_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A server whose memory limit is far below its need is slower, but answers every write, and is ready.
func TestLowMemory(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	server := newServer(filepath.Join(t.TempDir(), "data"))
	server.env = []string{"GOMEMLIMIT=32MiB"}
	server.start(t)
	c := server.client.Load()
	prepare(t, c)
	ledger := newLedger()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, w := range newWriters(s, ledger) {
		running.Go(func() {
			for ctx.Err() == nil {
				// A write that the end of the test interrupts does not count.
				if a := w.write(ctx, t, c); a.outcome == open && ctx.Err() == nil {
					t.Errorf("%s: %v", w.resource, a.err)
				}
			}
		})
	}
	const writes = 60
	begin, total := time.Now(), rounds(t, 1, 50)
	for range total {
		ledger.await(t, ledger.count.Load()+writes)
	}
	took := time.Since(begin)
	cancel()
	running.Wait()
	if err := c.rest.Get().RequestURI("/readyz").Do(t.Context()).Error(); err != nil {
		t.Error(err)
	}
	ledger.settle(t, c)
	t.Logf("%d acknowledged writes with GOMEMLIMIT=32MiB in %s, %d rounds of %d",
		ledger.count.Load(), took.Round(time.Second), total, writes)
}

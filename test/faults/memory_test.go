package faults_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
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
	ledger.await(t, int64(either(60, 10_000)))
	cancel()
	running.Wait()
	if err := c.rest.Get().RequestURI("/readyz").Do(t.Context()).Error(); err != nil {
		t.Error(err)
	}
	ledger.settle(t, c)
	t.Logf("%d acknowledged writes with GOMEMLIMIT=32MiB", ledger.count.Load())
}

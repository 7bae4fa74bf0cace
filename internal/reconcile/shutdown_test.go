package reconcile_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/reconcile"
)

func TestRunWaitsForInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &controller{began: time.Now()}
		loop := reconcile.New(reconcile.Config[string]{Reconcile: c.reconcile})
		var synced atomic.Bool
		var running sync.WaitGroup
		running.Go(func() { loop.Run(ctx, synced.Load) })
		loop.Add("a")
		time.Sleep(time.Minute)
		if c.count() != 0 {
			t.Error("a key was reconciled before the informer had synced")
		}
		synced.Store(true)
		time.Sleep(time.Minute)
		if c.count() != 1 {
			t.Errorf("%d calls after the informer had synced, want 1", c.count())
		}
		cancel()
		running.Wait()
	})
}

// TestShutdown checks that Run waits for a busy worker before it returns, and that no
// worker reconciles the keys that are still in the queue.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &controller{}
		var calls []string
		ended := false
		loop := reconcile.New(reconcile.Config[string]{
			Log: c.log,
			Reconcile: func(ctx context.Context, key string) (reconcile.Result, error) {
				calls = append(calls, key)
				<-ctx.Done()
				time.Sleep(time.Second)
				ended = true
				return reconcile.Result{}, errFailed
			},
		})
		loop.Add("a")
		loop.Add("b")
		var running sync.WaitGroup
		running.Go(func() {
			loop.Run(ctx)
			if !ended {
				t.Error("Run returned before its worker")
			}
		})
		synctest.Wait()
		cancel()
		running.Wait()
		loop.Add("c")
		if diff := cmp.Diff([]string{"a"}, calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if len(c.logged) > 0 {
			t.Errorf("logged after ctx ended: %v", c.logged)
		}
	})
}

// TestShutdownBeforeSync checks that Run returns when ctx ends while it waits for
// informers.
func TestShutdownBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := &controller{}
		loop := reconcile.New(reconcile.Config[string]{Reconcile: c.reconcile})
		loop.Add("a")
		loop.Run(ctx, func() bool { return false })
		if c.count() != 0 {
			t.Error("a key was reconciled without a synced informer")
		}
	})
}

// TestNotRun checks that ShutDown ends the goroutine of a loop that never runs: the
// bubble panics if one is left.
func TestNotRun(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		reconcile.New(reconcile.Config[string]{}).ShutDown()
	})
}

package reconcile_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/reconcile"
)

// TestWorkers checks that all workers reconcile at the same time, but never two of them
// the same key.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		busy := map[string]int{}
		calls := map[string]int{}
		most := 0
		loop, stop := start(t, reconcile.Config[string]{
			Workers: 3,
			Reconcile: func(_ context.Context, key string) (reconcile.Result, error) {
				mu.Lock()
				busy[key]++
				calls[key]++
				if busy[key] > 1 {
					t.Errorf("%d workers reconcile %s at the same time", busy[key], key)
				}
				most = max(most, busy["a"]+busy["b"]+busy["c"]+busy["d"])
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				busy[key]--
				mu.Unlock()
				return reconcile.Result{}, nil
			},
		})
		for _, key := range []string{"a", "b", "c", "d"} {
			loop.Add(key)
		}
		synctest.Wait()
		// A worker is reconciling a. Both calls of Add together cause one more call
		// of Reconcile.
		loop.Add("a")
		loop.Add("a")
		time.Sleep(time.Minute)
		stop()
		if most != 3 {
			t.Errorf("at most %d keys at the same time, want 3", most)
		}
		if diff := cmp.Diff(map[string]int{"a": 2, "b": 1, "c": 1, "d": 1}, calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// TestWorkersPerGroup checks that a group leaves workers to other groups while the reconciles of its
// keys do not end, that no more of its keys are reconciled at the same time, and that all its keys
// are reconciled later.
func TestWorkersPerGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		running, most := 0, 0
		release := make(chan struct{})
		loop, stop := start(t, reconcile.Config[string]{
			Workers: 3, WorkersPerGroup: 2, Group: func(key string) string { return key[:1] },
			Reconcile: func(_ context.Context, key string) (reconcile.Result, error) {
				mu.Lock()
				order = append(order, key)
				mu.Unlock()
				if key[0] != 'a' {
					return reconcile.Result{}, nil
				}
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				<-release
				mu.Lock()
				running--
				mu.Unlock()
				return reconcile.Result{}, nil
			},
		})
		for _, key := range []string{"a1", "a2"} {
			loop.Add(key)
			synctest.Wait()
		}
		for _, key := range []string{"a3", "a4", "a3", "b1", "b2"} {
			loop.Add(key)
			synctest.Wait()
		}
		close(release)
		synctest.Wait()
		stop()
		// The last two start at the same time.
		slices.Sort(order[4:])
		if diff := cmp.Diff([]string{"a1", "a2", "b1", "b2", "a3", "a4"}, order); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		if most != 2 {
			t.Errorf("%d keys of a group at the same time", most)
		}
	})
}

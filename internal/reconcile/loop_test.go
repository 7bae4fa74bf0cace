package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"holdfast.dev/holdfast/internal/reconcile"
)

var (
	errFailed   = errors.New("failed")
	errConflict = apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", errors.New("changed"))
)

// answer is what Reconcile returns for one call.
type answer struct {
	result reconcile.Result
	err    error
}

// controller reconciles one key. It records when it is called, and answers with the
// next of its answers; after the last one it succeeds.
type controller struct {
	mu      sync.Mutex
	began   time.Time
	answers []answer
	calls   []time.Duration
	logged  []string
}

func (c *controller) reconcile(context.Context, string) (reconcile.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, time.Since(c.began))
	if len(c.answers) == 0 {
		return reconcile.Result{}, nil
	}
	next := c.answers[0]
	c.answers = c.answers[1:]
	return next.result, next.err
}

// count returns the number of calls so far.
func (c *controller) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

func (c *controller) log(_ context.Context, key string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logged = append(c.logged, key+": "+err.Error())
}

// start runs a loop inside a synctest bubble. The returned function stops it and
// waits until Run has returned.
func start[K comparable](t *testing.T, config reconcile.Config[K]) (*reconcile.Loop[K], func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	loop := reconcile.New(config)
	var running sync.WaitGroup
	running.Go(func() { loop.Run(ctx) })
	return loop, func() {
		cancel()
		running.Wait()
	}
}

func TestRetry(t *testing.T) {
	const ms = time.Millisecond
	failed := answer{err: errFailed}
	tests := map[string]struct {
		answers []answer
		calls   []time.Duration
		logged  []string
	}{
		"success is not retried": {
			answers: []answer{{}},
			calls:   []time.Duration{0},
		},
		"delays double up to the last one": {
			answers: []answer{failed, failed, failed, failed, failed, failed},
			calls:   []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 2500 * ms, 3500 * ms},
			logged:  []string{"a: failed", "a: failed", "a: failed", "a: failed", "a: failed", "a: failed"},
		},
		"success resets the delay": {
			answers: []answer{failed, failed, {result: reconcile.Result{After: time.Second}}, failed},
			calls:   []time.Duration{0, 100 * ms, 300 * ms, 1300 * ms, 1400 * ms},
			logged:  []string{"a: failed", "a: failed", "a: failed"},
		},
		"progress resets the delay": {
			answers: []answer{failed, failed, {result: reconcile.Result{Progressed: true}, err: errFailed}, failed},
			calls:   []time.Duration{0, 100 * ms, 300 * ms, 400 * ms, 600 * ms},
			logged:  []string{"a: failed", "a: failed", "a: failed", "a: failed"},
		},
		"enqueued again after a time": {
			answers: []answer{{result: reconcile.Result{After: time.Minute}}, {result: reconcile.Result{After: time.Hour}}},
			calls:   []time.Duration{0, time.Minute, time.Minute + time.Hour},
		},
		"a retry that is sooner than the time": {
			answers: []answer{{result: reconcile.Result{After: time.Minute}, err: errFailed}},
			calls:   []time.Duration{0, 100 * ms},
			logged:  []string{"a: failed"},
		},
		"a time that is sooner than the retry": {
			answers: []answer{{result: reconcile.Result{After: 10 * ms}, err: errFailed}},
			calls:   []time.Duration{0, 10 * ms},
			logged:  []string{"a: failed"},
		},
		"not yet is retried without a log line": {
			answers: []answer{{err: reconcile.ErrNotYet}, {err: fmt.Errorf("empty namespace: %w", reconcile.ErrNotYet)}},
			calls:   []time.Duration{0, 100 * ms, 300 * ms},
		},
		"a conflict is retried without a log line": {
			answers: []answer{{err: errConflict}, {err: fmt.Errorf("update: %w", errConflict)}},
			calls:   []time.Duration{0, 100 * ms, 300 * ms},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &controller{began: time.Now(), answers: test.answers}
				loop, stop := start(t, reconcile.Config[string]{
					Reconcile: c.reconcile, Log: c.log, FirstRetry: 100 * ms, LastRetry: time.Second,
				})
				loop.Add("a")
				time.Sleep(24 * time.Hour)
				stop()
				if diff := cmp.Diff(test.calls, c.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.logged, c.logged); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loop *reconcile.Loop[string]
		var before []int
		c := &controller{answers: []answer{{err: errFailed}, {err: reconcile.ErrNotYet}}}
		loop, stop := start(t, reconcile.Config[string]{
			Log: c.log,
			Reconcile: func(ctx context.Context, key string) (reconcile.Result, error) {
				before = append(before, loop.Retries(key))
				return c.reconcile(ctx, key)
			},
		})
		loop.Add("a")
		time.Sleep(time.Minute)
		stop()
		if diff := cmp.Diff([]int{0, 1, 2}, before); diff != "" {
			t.Errorf("retries before each call (-want +got):\n%s", diff)
		}
		if after := loop.Retries("a"); after != 0 {
			t.Errorf("%d retries after success, want 0", after)
		}
	})
}

func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 200
		var mu sync.Mutex
		delays := map[time.Duration]bool{}
		began := time.Now()
		failed := map[int]bool{}
		loop, stop := start(t, reconcile.Config[int]{
			FirstRetry: time.Second, LastRetry: time.Second, Jitter: 0.5,
			Reconcile: func(_ context.Context, key int) (reconcile.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				if !failed[key] {
					failed[key] = true
					return reconcile.Result{}, reconcile.ErrNotYet
				}
				delays[time.Since(began)] = true
				return reconcile.Result{}, nil
			},
		})
		for key := range keys {
			loop.Add(key)
		}
		time.Sleep(time.Minute)
		stop()
		for delay := range delays {
			if delay < time.Second || delay >= 1500*time.Millisecond {
				t.Errorf("retried after %s, want 1s to 1.5s", delay)
			}
		}
		if len(delays) < keys/2 {
			t.Errorf("%d keys were retried at %d moments, want them spread", keys, len(delays))
		}
	})
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clocktesting.NewFakeClock(time.Now())
		c := &controller{began: time.Now(), answers: []answer{{err: errFailed}}}
		loop, stop := start(t, reconcile.Config[string]{Reconcile: c.reconcile, Log: c.log, FirstRetry: time.Second, Clock: clock})
		defer stop()
		loop.Add("a")
		time.Sleep(time.Hour)
		if c.count() != 1 {
			t.Fatalf("%d calls before the clock moved, want 1", c.count())
		}
		clock.Step(time.Second)
		synctest.Wait()
		if c.count() != 2 {
			t.Errorf("%d calls after the clock moved, want 2", c.count())
		}
	})
}

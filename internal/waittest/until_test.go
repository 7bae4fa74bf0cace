package waittest_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/holdfast/internal/waittest"
)

// recorder is a test that records its failure.
type recorder struct {
	failure string
	// deadline is that of the test process, none if it is zero.
	deadline time.Time
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) { r.failure = fmt.Sprintf(format, args...) }

func (r *recorder) Deadline() (time.Time, bool) { return r.deadline, !r.deadline.IsZero() }

func TestUntil(t *testing.T) {
	after := func(d time.Duration) func() bool {
		begin := time.Now()
		return func() bool { return time.Since(begin) >= d }
	}
	tests := map[string]struct {
		wait  func(waittest.TB)
		limit time.Duration
		want  string
		took  time.Duration
	}{
		"holds at once": {
			wait: func(t waittest.TB) { waittest.Until(t, "it holds", func() bool { return true }) },
		},
		"holds later": {
			wait: func(t waittest.TB) { waittest.Until(t, "it holds", after(4*time.Minute)) },
			took: 4 * time.Minute,
		},
		"never holds": {
			wait: func(t waittest.TB) { waittest.Until(t, "the pod is gone", func() bool { return false }) },
			want: "waited 5m0s for: the pod is gone",
			took: waittest.Patience,
		},
		"always an error": {
			wait: func(t waittest.TB) {
				waittest.Until(t, "the pod is gone", func() error { return errors.New("it is there") })
			},
			want: "waited 5m0s for: the pod is gone; the last check: it is there",
			took: waittest.Patience,
		},
		"before the deadline of the process": {
			wait:  func(t waittest.TB) { waittest.Until(t, "the pod is gone", func() bool { return false }) },
			limit: time.Minute,
			want:  "waited 45s for: the pod is gone",
			took:  45 * time.Second,
		},
		"a value": {
			wait: func(t waittest.TB) {
				values := make(chan int)
				go func() {
					time.Sleep(time.Minute)
					values <- 1
				}()
				if got := waittest.Receive(t, "a number", values); got != 1 {
					t.Fatalf("received %d", got)
				}
			},
			took: time.Minute,
		},
		"a channel that is closed": {
			wait: func(t waittest.TB) {
				closed := make(chan error)
				close(closed)
				if err := waittest.Receive(t, "the end", closed); err != nil {
					t.Fatalf("received %v", err)
				}
			},
		},
		"no value": {
			wait: func(t waittest.TB) { waittest.Receive(t, "a number", make(chan int)) },
			want: "waited 5m0s for: a number",
			took: waittest.Patience,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, begin := &recorder{}, time.Now()
				if test.limit > 0 {
					r.deadline = begin.Add(test.limit)
				}
				test.wait(r)
				if r.failure != test.want {
					t.Errorf("failed with %q, want %q", r.failure, test.want)
				}
				if took := time.Since(begin); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
			})
		})
	}
}

package heap_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/cli/heap"
)

func TestPercentOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		live      uint64
		sinceLast time.Duration
		want      int
	}{
		"a small heap of a busy process grows by the room": {live: 32 << 20, sinceLast: time.Second, want: 400},
		"the percentage has steps":                         {live: 50 << 20, sinceLast: time.Second, want: 250},
		"a large heap doubles":                             {live: 1 << 30, sinceLast: time.Second, want: 100},
		"an idle process keeps a small heap":               {live: 32 << 20, sinceLast: time.Minute, want: 100},
		"nothing is known":                                 {live: 0, sinceLast: time.Second, want: 100},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := heap.PercentOf(test.live, test.sinceLast); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

// TestGrow checks the setting of a busy process, with Grow and after it.
func TestGrow(t *testing.T) {
	t.Setenv("GOGC", "")
	useDefault(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	heap.Grow(ctx)
	// The first collection tells nothing about the time between two of them.
	collect()
	collect()
	if collect(); percent() <= defaultPercent {
		t.Errorf("%d%% with Grow, want more than Go's default", percent())
	}
	stop()
	collect()
	if collect(); percent() != defaultPercent {
		t.Errorf("%d%% after Grow, want Go's default", percent())
	}
}

// TestGrowWithSetting checks that Grow leaves the setting of the user alone.
func TestGrowWithSetting(t *testing.T) {
	t.Setenv("GOGC", "100")
	useDefault(t)
	heap.Grow(t.Context())
	for range 4 {
		if collect(); percent() != defaultPercent {
			t.Errorf("%d%%, want that of the user", percent())
		}
	}
}

// defaultPercent is by how many percent the heap may grow by default.
const defaultPercent = 100

// useDefault gives the process Go's default during the test. The environment of the test may have another setting.
func useDefault(t *testing.T) {
	t.Helper()
	before := debug.SetGCPercent(defaultPercent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// collect collects garbage, and waits until the finalizers of the collection before this one have run.
func collect() {
	ran := make(chan struct{})
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { close(ran) })
	runtime.GC()
	<-ran
}

// percent returns by how many percent the heap may grow.
func percent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

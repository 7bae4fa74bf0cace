package heap_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"holdfast.dev/holdfast/internal/cli/heap"
)

const megabyte = 1 << 20

func TestPercentOf(t *testing.T) {
	t.Parallel()
	const gigabyte = 1024 * megabyte
	tests := map[string]struct {
		live, pointers uint64
		perSecond      float64
		want           int
	}{
		"a small heap of a busy process grows by the room":   {live: 32 * megabyte, pointers: 20 * megabyte, perSecond: 100 * megabyte, want: 400},
		"a small heap gets ten seconds":                      {live: 32 * megabyte, pointers: 20 * megabyte, perSecond: 8 * megabyte, want: 250},
		"a small heap of an idle process doubles":            {live: 32 * megabyte, pointers: 20 * megabyte, perSecond: megabyte / 2, want: 100},
		"a middle heap of an idle process":                   {live: 128 * megabyte, pointers: 100 * megabyte, perSecond: megabyte, want: 50},
		"a large heap of a busy process doubles":             {live: gigabyte, pointers: gigabyte, perSecond: 200 * megabyte, want: 100},
		"a large heap with some work":                        {live: gigabyte, pointers: gigabyte, perSecond: 10 * megabyte, want: 48},
		"a large heap with little work":                      {live: gigabyte, pointers: gigabyte, perSecond: megabyte, want: 25},
		"a large heap of texts grows by the room":            {live: gigabyte, pointers: 64 * megabyte, perSecond: 500 * megabyte, want: 12},
		"a large heap of texts, of an idle process":          {live: gigabyte, pointers: 64 * megabyte, perSecond: megabyte, want: 6},
		"a very large heap of texts has a lowest percentage": {live: 8 * gigabyte, pointers: 64 * megabyte, perSecond: megabyte, want: 5},
		"nothing is known":                                   {perSecond: megabyte, want: 100},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := heap.PercentOf(heap.Usage{Live: test.live, Pointers: test.pointers}, test.perSecond); got != test.want {
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
	// The first collection tells nothing about the rate of allocations.
	for range 3 {
		garbage(64 * megabyte)
		collect()
	}
	if percent() <= defaultPercent {
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

// sink keeps the compiler from leaving out an allocation.
var sink []byte

// garbage allocates so many bytes, and keeps none of them.
func garbage(bytes int) {
	for range bytes / megabyte {
		sink = make([]byte, megabyte)
	}
	sink = nil
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

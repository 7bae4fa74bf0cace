// Package heap lets the heap of a busy process grow, so that the garbage collector runs less often, and keeps it within the memory
// of a container.
//
//	heap.Limit()
//	heap.Grow(ctx)
//
// By default, Go collects garbage when the heap is twice as large as what the last collection left. A server with few objects has a
// small heap. Under load it would collect several times a second, and each collection costs the same, however little garbage there is.
// Both are settings of the whole process, so a command calls them, and no library does.
package heap

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// room is how much a busy process may allocate between two collections, if that is more than what Go allows by default.
	room = 128 << 20
	// busyInterval is the time between two collections below which the process is busy. An idle one keeps a small heap.
	busyInterval = 10 * time.Second
	// defaultPercent is Go's default of GOGC.
	defaultPercent = 100
)

// Grow lets the heap grow while the process is busy, until ctx ends. It does nothing if the environment sets GOGC. If there is a
// memory limit, Go collects more often as the memory comes near to it, whatever Grow sets.
func Grow(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	g := &grower{ctx: ctx, percent: defaultPercent}
	g.afterNextCollection()
}

// grower sets the percentage of growth after each collection. The runtime calls it, one call at a time.
type grower struct {
	ctx     context.Context //nolint:containedctx // the runtime calls collected, and gives it none
	percent int
	last    time.Time
}

// afterNextCollection calls collected once, when the next collection has ended.
func (g *grower) afterNextCollection() {
	sentinel := new([16]byte)
	runtime.SetFinalizer(sentinel, func(*[16]byte) { g.collected(time.Now()) })
}

func (g *grower) collected(now time.Time) {
	percent := defaultPercent
	if g.ctx.Err() == nil {
		percent = percentOf(live(), now.Sub(g.last))
		defer g.afterNextCollection()
	}
	g.last = now
	// A new percentage stops all goroutines for some microseconds.
	if percent != g.percent {
		g.percent = percent
		debug.SetGCPercent(percent)
	}
}

// percentOf returns by how many percent the heap may grow, after a collection that left so many bytes.
func percentOf(live uint64, sinceLast time.Duration) int {
	if sinceLast > busyInterval || live == 0 {
		return defaultPercent
	}
	// Steps of 50 avoid a new percentage after each collection.
	const step = 50
	return max(defaultPercent, int(room*100/live)/step*step)
}

// live returns the bytes that the last collection left.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

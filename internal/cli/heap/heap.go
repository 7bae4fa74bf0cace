// Package heap decides how far the heap of a server grows between two garbage collections, returns memory after a burst of work, and keeps
// the process within the memory of a container.
//
//	heap.Limit()
//	heap.Grow(ctx)
//	heap.Shrink(ctx)
//
// By default, Go collects garbage when the heap is twice as large as what the last collection left. That is too early for a small heap of a
// busy server: it would collect several times a second, and each collection costs the same, however little garbage there is. It is too late
// for a large heap of a server with little work, which keeps as much garbage as objects. After a burst of work, the garbage stays for
// minutes, and with it the memory that Go has for new objects.
//
// All of these are settings of the whole process, so a command calls the functions, and no library does.
package heap

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// defaultPercent is Go's default of GOGC.
const defaultPercent = 100

// Grow chooses after each collection how far the heap may grow, see room, until ctx ends. It does nothing if the environment sets GOGC. If
// there is a memory limit, Go collects more often as the memory comes near to it, whatever Grow sets.
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
	rate    rate
}

// afterNextCollection calls collected once, when the next collection has ended.
func (g *grower) afterNextCollection() {
	sentinel := new([16]byte)
	runtime.SetFinalizer(sentinel, func(*[16]byte) { g.collected(time.Now()) })
}

func (g *grower) collected(now time.Time) {
	percent := defaultPercent
	if g.ctx.Err() == nil {
		defer g.afterNextCollection()
		used := read()
		if perSecond, known := g.rate.of(used, now); known {
			percent = percentOf(used, perSecond)
		}
	}
	// A new percentage stops all goroutines for some microseconds. Small differences are not worth it.
	if difference := max(percent-g.percent, g.percent-percent); difference*10 > g.percent {
		g.percent = percent
		debug.SetGCPercent(percent)
	}
}

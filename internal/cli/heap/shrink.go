package heap

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

const (
	// tick is the time between two looks at the heap.
	tick = 2 * time.Second
	// burst is the rate of allocations, in a second, from which on work counts as a burst.
	burst = 8 << 20
	// A burst has ended when the rate is less than this part of its highest rate, and what the process allocates in the time again is
	// less than what it would return.
	endPart = 4
	again   = 30 * time.Second
	// A return is worth its collection if it returns at least leastReturn, and this part of the live heap.
	leastReturn = 16 << 20
	returnPart  = 8
	// pauseFactor bounds the cost: after a return, the next one waits for so many times the duration of a collection, which then takes
	// a hundredth of one core at most.
	pauseFactor = 100
)

// Shrink collects garbage once after each burst of work and returns the free memory to the operating system, until ctx ends. It does
// nothing if the environment sets GOGC.
func Shrink(ctx context.Context) {
	if os.Getenv("GOGC") == "" {
		shrink(ctx, tick)
	}
}

// shrink is Shrink with the time between two looks at the heap.
func shrink(ctx context.Context, every time.Duration) {
	var s shrinker
	// The first look only begins to count.
	s.worthwhile(read(), time.Now())
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if now := time.Now(); s.worthwhile(read(), now) {
				debug.FreeOSMemory()
				s.returned(now)
			}
		}
	}()
}

// shrinker decides when the process returns memory.
type shrinker struct {
	rate rate
	// highest is the highest rate since the last return, and last the time of that return.
	highest float64
	last    time.Time
}

// worthwhile reports whether a burst has ended, and the process has enough memory to return.
func (s *shrinker) worthwhile(u usage, now time.Time) bool {
	perSecond, known := s.rate.of(u, now)
	if !known {
		return false
	}
	s.highest = max(s.highest, perSecond)
	if s.highest < burst || perSecond*endPart > s.highest {
		return false
	}
	spare := float64(u.free)
	if u.objects > u.live { // a collection between two readings may make it less
		spare += float64(u.objects - u.live)
	}
	collection := time.Duration(float64(u.pointers) / scanned * float64(time.Second))
	return spare > max(leastReturn, float64(u.live)/returnPart) && spare > perSecond*again.Seconds() &&
		now.Sub(s.last) >= pauseFactor*collection
}

// returned notes that the process has returned memory. Without another burst, it does not do so again.
func (s *shrinker) returned(now time.Time) { s.highest, s.last = 0, now }

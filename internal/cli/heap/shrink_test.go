package heap_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/cli/heap"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestShrinker shows a shrinker the heap every two seconds.
func TestShrinker(t *testing.T) {
	t.Parallel()
	// A look says how many MB the process allocates in two seconds, and how many it could return then.
	type look struct{ allocates, spare uint64 }
	repeat := func(times int, l look) []look { return slices.Repeat([]look{l}, times) }
	burst, quiet := repeat(5, look{200, 100}), repeat(60, look{1, 100})
	tests := map[string]struct {
		pointers uint64 // in MB
		looks    []look
		want     []int // the numbers of the looks that return memory
	}{
		"an idle process returns nothing":          {pointers: 40, looks: quiet},
		"a busy process returns nothing":           {pointers: 40, looks: repeat(60, look{200, 100})},
		"once after a burst":                       {pointers: 40, looks: slices.Concat(burst, quiet), want: []int{5}},
		"not while the rest would be needed again": {pointers: 40, looks: slices.Concat(burst, repeat(60, look{20, 100}))},
		"not for little":                           {pointers: 40, looks: slices.Concat(burst, repeat(60, look{1, 10}))},
		"after each burst":                         {pointers: 40, looks: slices.Concat(burst, quiet, burst, quiet), want: []int{5, 70}},
		"later if the last return is not long ago": {pointers: 400, looks: slices.Concat(burst, quiet[:1], burst, quiet), want: []int{5, 25}},
		"once, if less work goes on":               {pointers: 400, looks: slices.Concat(burst, repeat(60, look{10, 400})), want: []int{5}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s heap.Shrinker
			var got []int
			at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
			u := heap.Usage{Live: test.pointers * megabyte, Pointers: test.pointers * megabyte}
			s.Look(u, at)
			for i, l := range test.looks {
				at = at.Add(2 * time.Second)
				u.Allocated += l.allocates * megabyte
				u.Objects, u.Free = u.Live+l.spare/2*megabyte, l.spare/2*megabyte
				if s.Look(u, at) {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("returned at the looks %v, want %v", got, test.want)
			}
		})
	}
}

// TestShrink lets this process allocate without collections, and waits until it has collected the garbage and returned the memory.
func TestShrink(t *testing.T) {
	before := debug.SetGCPercent(-1)
	defer debug.SetGCPercent(before)
	const size = 256 * megabyte
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	atFirst := resident()
	heap.ShrinkEvery(ctx, 20*time.Millisecond)
	garbage(size)
	waittest.Until(t, "the process has returned memory", func() error {
		if more := resident() - atFirst; more > size/2 {
			return fmt.Errorf("it has %d MB more than at first", more/megabyte)
		}
		return nil
	})
}

// resident returns the memory of the heap that the process has from the operating system.
func resident() int64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	var sum int64
	for _, sample := range samples {
		sum += int64(sample.Value.Uint64())
	}
	return sum
}

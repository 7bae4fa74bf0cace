package servertest

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"
)

// Cost is what a turn uses up.
type Cost struct {
	// CPU has the garbage in it that the turn made.
	CPU   time.Duration
	Bytes float64
}

// More is by how many percent of processor time a cost is more than another.
func (c Cost) More(other Cost) float64 { return 100 * (float64(c.CPU)/float64(other.CPU) - 1) }

// Compare has two sides take turns in one process, rounds times for each iteration of
// the benchmark, and gives the cost of a turn of each. What counts is the processor
// time of clients and servers together: it is the same on a busy machine.
//
// The garbage collector would charge whichever side it happens to interrupt, which
// may be more than what is compared. It runs between the rounds instead, and each
// side pays for the bytes that it allocated, at the price of a collection of a heap
// that doubles.
func Compare(b *testing.B, rounds int, first, second func()) (one, other Cost) {
	b.Helper()
	// What happens once, such as reading schemas, is nobody's.
	first()
	second()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var spent [2]usage
	var collected usage
	sides, turns := []func(){first, second}, 0
	// Whoever is first after a collection sweeps up. With odd rounds they take turns
	// at that as well.
	rounds |= 1
	for b.Loop() {
		for range rounds {
			// Whoever comes second may find things warm, so they swap.
			for i := range sides {
				side := (i + turns) % 2
				before := used(b)
				sides[side]()
				spent[side].add(used(b), before)
			}
			turns++
		}
		before := used(b)
		runtime.GC()
		collected.cpu += used(b).cpu - before.cpu
		collected.bytes += reading("/gc/heap/live:bytes")
	}
	each := func(u usage) Cost {
		garbage := float64(collected.cpu) * float64(u.bytes) / float64(collected.bytes)
		return Cost{CPU: time.Duration((float64(u.cpu) + garbage) / float64(turns)), Bytes: float64(u.bytes) / float64(turns)}
	}
	return each(spent[0]), each(spent[1])
}

// usage is what was used up.
type usage struct {
	cpu   time.Duration
	bytes uint64
}

func (u *usage) add(after, before usage) {
	u.cpu += after.cpu - before.cpu
	u.bytes += after.bytes - before.bytes
}

// used is what this process has used so far.
func used(b *testing.B) usage {
	b.Helper()
	return usage{ProcessorTime(b), reading("/gc/heap/allocs:bytes")}
}

// ProcessorTime is that of this process so far.
func ProcessorTime(b *testing.B) time.Duration {
	b.Helper()
	var spent syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &spent); err != nil {
		b.Fatal(err)
	}
	return time.Duration(spent.Utime.Nano() + spent.Stime.Nano())
}

// reading is a number that the runtime keeps.
func reading(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

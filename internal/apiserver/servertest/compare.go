package servertest

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"
)

// Cost is the cost of one call of a function.
type Cost struct {
	// CPU is the processor time, with the share of garbage collection for the allocated bytes.
	CPU time.Duration
	// Bytes is the memory that was allocated.
	Bytes float64
}

// More returns by how many percent the processor time of c exceeds that of other.
func (c Cost) More(other Cost) float64 { return 100 * (float64(c.CPU)/float64(other.CPU) - 1) }

// Compare calls two functions in turn, rounds times for each iteration of the benchmark, and
// returns the cost of one call of each. It measures the processor time of the whole process,
// clients and servers together. Unlike the elapsed time, it is the same on a busy machine.
//
// The garbage collector would be charged to the function that it happens to interrupt. This may
// be more than the difference that is measured. Compare therefore runs the collector between
// the rounds, and charges each function for the bytes that it allocated.
func Compare(b *testing.B, rounds int, first, second func()) (one, other Cost) {
	b.Helper()
	// The first calls do work that is done only once, such as reading schemas.
	first()
	second()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var spent [2]usage
	var collected usage
	sides, turns := []func(){first, second}, 0
	// The first function after a collection also does the sweeping. With an odd number of
	// rounds the functions take turns at this as well.
	rounds |= 1
	for b.Loop() {
		for range rounds {
			// The second function may profit from warm caches, so the order changes.
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
		cpu := time.Duration((float64(u.cpu) + garbage) / float64(turns))
		return Cost{CPU: cpu, Bytes: float64(u.bytes) / float64(turns)}
	}
	return each(spent[0]), each(spent[1])
}

// usage is the processor time and the allocated memory.
type usage struct {
	cpu   time.Duration
	bytes uint64
}

func (u *usage) add(after, before usage) {
	u.cpu += after.cpu - before.cpu
	u.bytes += after.bytes - before.bytes
}

// used returns the usage of this process so far.
func used(b *testing.B) usage {
	b.Helper()
	return usage{ProcessorTime(b), reading("/gc/heap/allocs:bytes")}
}

// ProcessorTime returns the processor time of this process so far.
func ProcessorTime(b *testing.B) time.Duration {
	b.Helper()
	var spent syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &spent); err != nil {
		b.Fatal(err)
	}
	return time.Duration(spent.Utime.Nano() + spent.Stime.Nano())
}

// reading returns a metric of the Go runtime.
func reading(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

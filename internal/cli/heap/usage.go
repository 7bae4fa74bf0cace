package heap

import (
	"runtime/metrics"
	"time"
)

// usage is what the runtime tells about the heap, in bytes.
type usage struct {
	// allocated is the sum of all allocations since the start of the process.
	allocated uint64
	// live is what the last collection left, and pointers how much of the heap a collection scans.
	live, pointers uint64
	// objects is live memory and what was allocated since, with its garbage. free is empty, but not returned to the operating system.
	objects, free uint64
}

// read returns the usage now. What this version of Go does not tell is zero.
func read() usage {
	var u usage
	fields := []*uint64{&u.allocated, &u.live, &u.pointers, &u.objects, &u.free}
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/scan/heap:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	for i, sample := range samples {
		if sample.Value.Kind() == metrics.KindUint64 {
			*fields[i] = sample.Value.Uint64()
		}
	}
	return u
}

// rate is how much the process allocates in a second, between two moments.
type rate struct {
	allocated uint64
	at        time.Time
}

// of returns the rate since the last call. The first call knows none.
func (r *rate) of(u usage, now time.Time) (perSecond float64, known bool) {
	elapsed := now.Sub(r.at)
	known = !r.at.IsZero() && elapsed > 0
	if known {
		perSecond = float64(u.allocated-r.allocated) / elapsed.Seconds()
	}
	r.allocated, r.at = u.allocated, now
	return perSecond, known
}

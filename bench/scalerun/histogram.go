package scalerun

import (
	"math"
	"time"
)

// step is the width of a class of a histogram: each is 2 % wider than the one before, so a percentile is wrong by 2 % at most.
const step = 1.02

// classes is the number of classes. The last begins above an hour.
const classes = 1120

// histogram counts durations. It has the same size for any number of them, and its zero value is empty.
type histogram struct {
	counts  [classes]uint32
	count   int
	longest time.Duration
}

// add counts a duration.
func (h *histogram) add(d time.Duration) {
	h.counts[class(d)]++
	h.count++
	h.longest = max(h.longest, d)
}

// class returns the number of the class of a duration. Class n has those up to step^n microseconds.
func class(d time.Duration) int {
	microseconds := float64(d) / float64(time.Microsecond)
	if microseconds <= 1 {
		return 0
	}
	return min(classes-1, int(math.Ceil(math.Log(microseconds)/math.Log(step))))
}

// percentile returns the duration that a part of the durations does not exceed, and 0 if there are none.
func (h *histogram) percentile(part float64) time.Duration {
	rank, seen := int(math.Ceil(part*float64(h.count))), 0
	for i, n := range h.counts {
		if seen += int(n); n > 0 && seen >= rank {
			return min(h.longest, time.Duration(math.Pow(step, float64(i))*float64(time.Microsecond)))
		}
	}
	return 0
}

// latency returns what the result says about the durations.
func (h *histogram) latency() Latency {
	return Latency{
		Count: h.count, P50: milliseconds(h.percentile(0.5)), P99: milliseconds(h.percentile(0.99)), Max: milliseconds(h.longest),
	}
}

// milliseconds returns a duration with three digits after the point.
func milliseconds(d time.Duration) float64 { return math.Round(float64(d)/1000) / 1000 }

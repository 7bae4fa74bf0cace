package simulation

import (
	"slices"
	"testing"
)

// maxRuns bounds the number of runs that make a trace shorter.
const maxRuns = 3000

// shrink removes steps from the trace of a failed round as long as it fails. It begins with half of the steps at a time, and ends when no single
// step can be removed. It returns the shortest round that failed, and the number of runs.
func (c Config) shrink(t *testing.T, seed uint64, failed outcome) (shortest outcome, runs int) {
	t.Helper()
	shortest = failed
	for size := max(len(failed.trace)/2, 1); runs < maxRuns; {
		removed := false
		for end := len(shortest.trace); end > 0 && runs < maxRuns; end = min(end-size, len(shortest.trace)) {
			begin := max(end-size, 0)
			runs++
			found := c.execute(t, seed, slices.Delete(slices.Clone(shortest.trace), begin, end))
			if found.err != nil {
				shortest, removed = found, true
			}
		}
		if size == 1 && !removed {
			break
		}
		if !removed || size > len(shortest.trace) {
			size = max(size/2, 1)
		}
	}
	return shortest, runs
}

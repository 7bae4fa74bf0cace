package pasttest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Perturbations in the order of the rounds.
const (
	none         = "none"
	delayed      = "delayed"
	merged       = "merged"
	repeated     = "repeated"
	expired      = "expired"
	old          = "old"
	killedBefore = "killed before"
	killedAfter  = "killed after"
	killedLate   = "killed late"
	all          = "all"
)

var perturbations = []string{all, killedLate, old, killedAfter, merged, killedBefore, expired, delayed, repeated}

// maxKills is how often a controller dies in one run, so that it gets on with its work.
const maxKills = 5

// faults decides about the faults of one run.
type faults struct {
	perturbation string
	seed         int64
	// killAt is the number of the write at which the controller dies, from 1. Zero is none.
	killAt int
}

// newFaults returns the faults of a round. writes is the number of writes that the controller makes without faults.
func newFaults(seed int64, round, writes int) faults {
	f := faults{perturbation: perturbations[round%len(perturbations)], seed: seed + int64(round)}
	if f.is(killedBefore) || f.is(killedAfter) || f.is(killedLate) {
		// Each write in turn. A seed begins anywhere.
		f.killAt = 1 + int((uint64(seed)+uint64(round/len(perturbations)))%uint64(max(writes, 1)))
	}
	return f
}

func (f faults) String() string {
	text := fmt.Sprintf("%s, seed %d", f.perturbation, f.seed)
	if f.killAt > 0 {
		text += fmt.Sprintf(", at write %d", f.killAt)
	}
	return text
}

func (f faults) is(perturbation string) bool { return f.perturbation == perturbation }

func (f faults) any(perturbations ...string) bool {
	for _, one := range perturbations {
		if f.is(one) {
			return true
		}
	}
	return f.is(all)
}

// chance decides, by the seed, about an event that the parts identify. It is true in percent of the cases.
func (f faults) chance(percent uint64, parts ...any) bool { return f.number(100, parts...) < percent }

// number returns a number below limit, by the seed and the parts.
func (f faults) number(limit uint64, parts ...any) uint64 {
	sum := sha256.Sum256(fmt.Append(nil, f.seed, parts))
	return binary.BigEndian.Uint64(sum[:]) % limit
}

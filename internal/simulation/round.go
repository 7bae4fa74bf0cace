package simulation

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// outcome is what happened in a round.
type outcome struct {
	// trace has the steps up to the failure, all if there is none.
	trace []uint64
	said  []line
	// err is what is wrong, nil if nothing is.
	err error
}

// line is what an actor did in a step, and when, since the beginning of the round.
type line struct {
	at          time.Duration
	actor, what string
}

// execute runs a round with the steps of a trace.
func (c Config) execute(t *testing.T, seed uint64, trace []uint64) outcome {
	t.Helper()
	found := outcome{trace: trace}
	synctest.Test(t, func(*testing.T) {
		begin := time.Now()
		w := &World{}
		s := c.New(w, rand.New(rand.NewPCG(seed, 1)))
		defer w.stop(s)
		total := 0
		for _, a := range s.Actors {
			total += max(a.Weight, 1)
		}
		synctest.Wait()
		source := rand.NewPCG(0, 0)
		r := rand.New(source)
		for i, step := range trace {
			source.Seed(seed, step)
			a := choose(s.Actors, r.IntN(total))
			var what string
			what, found.err = s.step(a, r)
			if what != "" {
				found.said = append(found.said, line{time.Since(begin), a.Name, what})
			}
			if found.err != nil {
				found.trace = trace[:i+1]
				return
			}
		}
		found.err = protect(func() error { return w.settle(s) })
	})
	return found
}

// choose returns the actor at a place among the weights.
func choose(actors []Actor, place int) Actor {
	for _, a := range actors {
		if place -= max(a.Weight, 1); place < 0 {
			return a
		}
	}
	panic("the place is not among the weights")
}

// step lets an actor take a step, and checks the system.
func (s System) step(a Actor, r *rand.Rand) (what string, err error) {
	err = protect(func() error {
		what = a.Step(r)
		synctest.Wait()
		if s.Check == nil {
			return nil
		}
		return s.Check()
	})
	return what, err
}

// protect returns a panic as an error.
func protect(f func() error) (err error) {
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("panic: %v\n%s", found, debug.Stack())
		}
	}()
	return f()
}

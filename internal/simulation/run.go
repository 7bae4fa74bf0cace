package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Config is a system, and how long it is simulated.
type Config struct {
	// New returns the system in its first state. It may draw random numbers, which do not change when a trace is made shorter.
	New func(*World, *rand.Rand) System
	// Steps is the number of steps of a round, and Rounds that of rounds. HOLDFAST_SOAK sets a duration in which there are more.
	Steps, Rounds int
	// Reached are the steps that must happen in all rounds together, each as the actor and the first word of what it did. Without them, a test
	// could pass because an actor never gets far.
	Reached []string
}

// System is a system with its actors.
type System struct {
	Actors []Actor
	// Check returns what is wrong after a step. It may be nil.
	Check func() error
	// Settled returns what is wrong when the system has come to rest. It is called after the last step, and again for the time of Rest as long as it
	// returns an error. No request waits then, and none meets a fault.
	Settled func() error
	Rest    time.Duration
	// Stop ends the goroutines of the system. It may be nil.
	Stop func()
}

// Actor is a part of a system that takes steps.
type Actor struct {
	Name string
	// Weight is how often the actor takes a step, compared with the others. Zero means 1.
	Weight int
	// Step takes a step, and returns what the actor did, empty if it had nothing to do. It draws all random numbers from the argument.
	Step func(*rand.Rand) string
}

// figures count what happened in all rounds.
type figures struct {
	rounds, steps int
	reached       map[string]int
}

// Run runs rounds of a system. If one fails, Run fails the test with the shortest trace that it has found.
func Run(t *testing.T, c Config) {
	t.Helper()
	limit, seed := settings(t)
	all := figures{reached: map[string]int{}}
	for begin := time.Now(); all.rounds < c.Rounds || time.Since(begin) < limit; seed++ {
		found := c.execute(t, seed, draw(seed, c.Steps))
		all.add(found)
		if found.err != nil {
			t.Fatal(c.describe(t, seed, found))
		}
	}
	t.Logf("%d steps in %d rounds, the last with the seed %d: %s", all.steps, all.rounds, seed-1, all)
	for _, want := range c.Reached {
		if all.reached[want] == 0 {
			t.Errorf("not reached: %s", want)
		}
	}
}

// settings returns the duration of a longer test, zero for the short one, and the seed of the first round.
func settings(t *testing.T) (time.Duration, uint64) {
	t.Helper()
	limit, seed := time.Duration(0), uint64(1)
	if text := os.Getenv("HOLDFAST_SOAK"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatalf("HOLDFAST_SOAK: %v", err)
		}
		seed = uint64(time.Now().UnixNano())
	}
	if text := os.Getenv("HOLDFAST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("HOLDFAST_SEED: %v", err)
		}
	}
	return limit, seed
}

// draw returns the trace of a round.
func draw(seed uint64, steps int) []uint64 {
	source := rand.NewPCG(seed, 0)
	trace := make([]uint64, steps)
	for i := range trace {
		trace[i] = source.Uint64()
	}
	return trace
}

// describe makes the trace of a failed round shorter, and returns the error with the trace.
func (c Config) describe(t *testing.T, seed uint64, failed outcome) string {
	t.Helper()
	whole := len(failed.trace)
	shortest, runs := c.shrink(t, seed, failed)
	var text strings.Builder
	fmt.Fprintf(&text, "%v\nHOLDFAST_SEED=%d fails after %d of %d steps; shortened to %d in %d runs:\n",
		shortest.err, seed, whole, c.Steps, len(shortest.trace), runs)
	for _, line := range shortest.said {
		fmt.Fprintf(&text, "%10s  %s: %s\n", line.at, line.actor, line.what)
	}
	return text.String()
}

func (f *figures) add(found outcome) {
	f.rounds++
	f.steps += len(found.trace)
	for _, line := range found.said {
		verb, _, _ := strings.Cut(line.what, " ")
		f.reached[line.actor+" "+verb]++
	}
}

func (f figures) String() string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(f.reached)) {
		texts = append(texts, fmt.Sprintf("%s %d", name, f.reached[name]))
	}
	return strings.Join(texts, ", ")
}

package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// counter is a number that clients read and write back, one more. If they compare, no addition is lost.
type counter struct {
	world        *World
	compares     bool
	value, added int
}

func (c *counter) add(ctx context.Context) {
	for {
		if _, err := c.world.Wait(ctx, "reads"); err != nil {
			return
		}
		read := c.value
		if _, err := c.world.Wait(ctx, "writes"); err != nil {
			return
		}
		if !c.compares || c.value == read {
			c.value, c.added = read+1, c.added+1
			return
		}
	}
}

// counters returns a simulation of two clients.
func counters(compares bool) Config {
	return Config{Steps: 100, Rounds: 50, Reached: []string{"user begins", "store reads", "store writes"}, New: func(w *World, _ *rand.Rand) System {
		c := &counter{world: w, compares: compares}
		ctx, cancel := context.WithCancel(context.Background())
		return System{
			Actors: []Actor{
				{Name: "user", Step: func(*rand.Rand) string {
					go c.add(ctx)
					return "begins an addition"
				}},
				{Name: "idle", Weight: 2, Step: func(*rand.Rand) string { return "" }},
				{Name: "store", Weight: 3, Step: w.Proceed},
			},
			Check: func() error {
				if c.value != c.added {
					return fmt.Errorf("the value is %d after %d additions", c.value, c.added)
				}
				return nil
			},
			Stop: cancel,
		}
	}}
}

// A lost update is found, and the shortest trace has the two additions that it needs.
func TestFindsRace(t *testing.T) {
	t.Parallel()
	c := counters(false)
	found := c.execute(t, 1, draw(1, c.Steps))
	if found.err == nil {
		t.Fatal("no lost update")
	}
	again := c.execute(t, 1, draw(1, c.Steps))
	if fmt.Sprint(again.said, again.err) != fmt.Sprint(found.said, found.err) {
		t.Errorf("the same seed, another round:\n%v\n%v", found, again)
	}
	shortest, _ := c.shrink(t, 1, found)
	var said []string
	for _, l := range shortest.said {
		said = append(said, l.actor+" "+l.what)
	}
	slices.Sort(said)
	want := "store reads, store reads, store writes, store writes, user begins an addition, user begins an addition"
	if got := strings.Join(said, ", "); got != want || len(shortest.trace) != 6 {
		t.Errorf("%d steps: %s", len(shortest.trace), got)
	}
	text := c.describe(t, 1, found)
	for _, part := range []string{"the value is 1 after 2 additions", "HOLDFAST_SEED=1 fails after", "shortened to 6 in", "user: begins an addition"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

// A system without the fault passes.
func TestPasses(t *testing.T) {
	t.Parallel()
	Run(t, counters(true))
}

// lamp is a controller that switches a light off a while after a user has switched it on.
type lamp struct {
	on    chan struct{}
	isOn  bool
	after time.Duration
}

func (l *lamp) run(ctx context.Context) {
	var off <-chan time.Time
	for {
		select {
		case <-l.on:
			l.isOn, off = true, time.After(l.after)
		case <-off:
			l.isOn = false
		case <-ctx.Done():
			return
		}
	}
}

func lamps(after time.Duration) Config {
	return Config{Steps: 50, Rounds: 20, Reached: []string{"user switches", "clock passes"}, New: func(_ *World, r *rand.Rand) System {
		l := &lamp{on: make(chan struct{}), after: after * time.Duration(1+r.IntN(2))}
		ctx, cancel := context.WithCancel(context.Background())
		go l.run(ctx)
		return System{
			Actors: []Actor{
				{Name: "user", Step: func(*rand.Rand) string {
					l.on <- struct{}{}
					return "switches it on"
				}},
				Clock(3, time.Second, time.Minute),
			},
			Settled: func() error {
				if l.isOn {
					return fmt.Errorf("the light is on")
				}
				return nil
			},
			Rest: time.Hour,
			Stop: cancel,
		}
	}}
}

// At the end, a system has the time to come to rest, and no more.
func TestRest(t *testing.T) {
	t.Parallel()
	Run(t, lamps(10*time.Minute))
	c := lamps(2 * time.Hour)
	for seed := uint64(1); ; seed++ {
		found := c.execute(t, seed, draw(seed, c.Steps))
		if found.err == nil {
			continue // the last step was long ago
		}
		shortest, _ := c.shrink(t, seed, found)
		if len(shortest.said) != 1 || shortest.said[0].what != "switches it on" {
			t.Errorf("%v", shortest)
		}
		return
	}
}

// A panic of a step is a failure with a trace.
func TestPanic(t *testing.T) {
	t.Parallel()
	c := Config{Steps: 10, New: func(*World, *rand.Rand) System {
		calls := 0
		return System{Actors: []Actor{{Name: "user", Step: func(*rand.Rand) string {
			if calls++; calls == 3 {
				panic("the third call")
			}
			return "calls"
		}}}}
	}}
	found := c.execute(t, 1, draw(1, c.Steps))
	if found.err == nil || !strings.Contains(found.err.Error(), "the third call") || len(found.trace) != 3 {
		t.Errorf("%d steps: %v", len(found.trace), found.err)
	}
}

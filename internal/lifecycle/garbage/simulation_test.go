package garbage_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/lifecycle/garbage"
	"holdfast.dev/holdfast/internal/simulation"
)

// TestSoakSimulation runs the collector on a model of the store. By seed, users write, watches deliver late, break and expire, lists are old,
// requests fail or lose their answer, time passes, and the collector is killed. The collector never deletes an object that must stay, and at
// the end every object is as its owners require. HOLDFAST_SOAK sets the duration of a longer test.
func TestSoakSimulation(t *testing.T) {
	t.Parallel()
	simulation.Run(t, simulation.Config{
		New: newSimulation, Steps: 300, Rounds: 60,
		Reached: []string{
			"user creates", "user deletes", "user adopts", "user releases", "user keeps", "user finalizes", "user replaces",
			"collector lists", "collector watches", "collector reads", "collector deletes", "collector patches", "collector finds",
			"watch delivers", "watch breaks", "clock passes", "collector starts",
		},
	})
}

// run is the simulation of a collector, which is killed and started again.
type run struct {
	world  *simulation.World
	store  *modelStore
	client *modelClient
	counts *modelCounter
	kill   func()
}

func newSimulation(w *simulation.World, _ *rand.Rand) simulation.System {
	s := &run{world: w, store: newModelStore()}
	s.start()
	return simulation.System{
		Actors: []simulation.Actor{
			{Name: "user", Weight: 8, Step: modelUser{s.store}.act},
			{Name: "collector", Weight: 14, Step: w.Proceed},
			{Name: "watch", Weight: 10, Step: s.deliver},
			{Name: "watch", Step: func(r *rand.Rand) string { return s.client.breakWatch(r) }},
			simulation.Clock(3, 10*time.Millisecond, 100*time.Millisecond, time.Second, 10*time.Second, 2*time.Minute, 61*time.Minute),
			{Name: "collector", Step: s.restart},
		},
		Check:   func() error { return s.store.wrong },
		Settled: s.settled,
		Rest:    time.Hour,
		Stop:    func() { s.kill() },
	}
}

// start starts the collector.
func (s *run) start() {
	s.client = &modelClient{world: s.world, store: s.store, watches: map[string]*modelWatch{}, shown: map[string]int{}}
	s.counts = &modelCounter{numbers: map[string]int64{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	config := garbage.Config{Metadata: s.client, Discovery: s.client, Replaced: recordsOf{s.client}, Counter: s.counts}
	go func() {
		defer close(ended)
		garbage.Run(ctx, config)
	}()
	s.kill = func() {
		cancel()
		<-ended
	}
}

// restart kills the collector, and starts another one.
func (s *run) restart(r *rand.Rand) string {
	if r.IntN(4) > 0 {
		return ""
	}
	s.kill()
	s.start()
	return "starts again"
}

// deliver delivers an event of one of the watches.
func (s *run) deliver(r *rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if kinds := s.client.pending(); len(kinds) > 0 {
		return s.client.deliver(kinds[r.IntN(len(kinds))])
	}
	return ""
}

// settled returns what is wrong when users write no more, and all events are delivered.
func (s *run) settled() error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	modelUser{s.store}.releaseAll()
	late := false
	for kinds := s.client.pending(); len(kinds) > 0; kinds = s.client.pending() {
		s.client.deliver(kinds[0])
		late = true
	}
	switch {
	case s.store.wrong != nil:
		return s.store.wrong
	case late:
		return errors.New("events were delivered late")
	}
	if err := s.store.atRest(); err != nil {
		return err
	}
	return s.counts.compare(s.store)
}

// modelCounter counts the objects that the collector sees.
type modelCounter struct {
	mu      sync.Mutex
	numbers map[string]int64
}

func (c *modelCounter) Count(resource schema.GroupResource, namespace string, change int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := resource.Resource + "/" + namespace; c.numbers[key]+change == 0 {
		delete(c.numbers, key)
	} else {
		c.numbers[key] += change
	}
}

func (*modelCounter) WatchStarted(schema.GroupResource) {}
func (*modelCounter) Listed(schema.GroupResource)       {}
func (*modelCounter) WatchStopped(schema.GroupResource) {}
func (*modelCounter) Discovered()                       {}

// compare returns an error if the numbers are not those of the objects in namespaces.
func (c *modelCounter) compare(store *modelStore) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := map[string]int64{}
	for key := range store.objects {
		for _, k := range modelKinds {
			if k.kind == key.kind && k.namespaced {
				want[k.resource+"/"+key.namespace]++
			}
		}
	}
	if !maps.Equal(want, c.numbers) {
		return fmt.Errorf("the collector counts %v, want %v", c.numbers, want)
	}
	return nil
}

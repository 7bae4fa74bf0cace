package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/cli/exchange"
	"holdfast.dev/holdfast/internal/replacement/journal"
	"holdfast.dev/holdfast/internal/simulation"
)

// TestSoakSimulation replaces one object by several runs of the command, on a model of the store. By seed, runs begin, go on with the journal of
// another one, and are killed; requests fail or lose their answer; the server refuses new objects; and users change, delete and create the
// object. At every moment the object is stored, or a journal has it, unless a user has deleted it. A last run ends every replacement.
func TestSoakSimulation(t *testing.T) {
	t.Parallel()
	simulation.Run(t, simulation.Config{
		New: newSimulation, Steps: 200, Rounds: 100,
		Reached: []string{
			"command begins", "crash ends", "request reads", "request creates", "request deletes", "request writes", "request removes",
			"user changes", "user deletes", "user creates", "server refuses", "server accepts", "clock passes",
		},
	})
}

// sim is the simulation of commands and users.
type sim struct {
	world *simulation.World
	store *simStore
	begun int
	// running ends the commands that run, by name.
	running map[string]func()
	// last says that the last command has begun, and lastErr is its error.
	last    bool
	lastErr error
}

func newSimulation(w *simulation.World, _ *rand.Rand) simulation.System {
	s := &sim{world: w, store: &simStore{}, running: map[string]func(){}}
	s.createObject("1")
	return simulation.System{
		Actors: []simulation.Actor{
			{Name: "command", Weight: 2, Step: s.begin},
			{Name: "crash", Step: s.die},
			{Name: "request", Weight: 14, Step: w.Proceed},
			{Name: "user", Step: s.act},
			{Name: "server", Step: s.judge},
			simulation.Clock(4, 20*time.Millisecond, 200*time.Millisecond, 10*time.Second),
		},
		Check: s.store.check, Settled: s.settled, Rest: time.Hour,
		Stop: func() {
			s.store.mu.Lock()
			defer s.store.mu.Unlock()
			for _, end := range s.running {
				end()
			}
		},
	}
}

// object returns an object with a level, as a file has it.
func object(level string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"}, "data": map[string]any{"level": level},
	}}
	o.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: "level " + level})
	return o
}

// createObject is the create of a user.
func (s *sim) createObject(level string) {
	if _, err := s.store.create(object(level)); err != nil {
		panic(err)
	}
}

// begin begins a command.
func (s *sim) begin(r *rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if len(s.running) == 3 {
		return ""
	}
	level := fmt.Sprint(1 + r.IntN(4))
	name := s.start(func(ctx context.Context, e *exchange.Exchanger) error { return s.replace(ctx, e, object(level)) })
	return "begins " + name + ", which wants level " + level
}

// start runs a command in a goroutine. The caller holds the lock of the store.
func (s *sim) start(do func(context.Context, *exchange.Exchanger) error) string {
	s.begun++
	name := fmt.Sprint("command ", s.begun)
	client := &simClient{world: s.world, store: s.store, name: name}
	ctx, cancel := context.WithCancel(context.Background())
	s.running[name] = cancel
	isLast := s.last
	go func() {
		err := do(ctx, &exchange.Exchanger{Objects: simObjects{simClient: client}, Cluster: client, FieldManager: "test"})
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		delete(s.running, name)
		if isLast {
			s.lastErr = err
		}
	}()
	return name
}

// replace does what apply --replace --resume --yes does: it goes on with a journal, or begins a replacement.
func (s *sim) replace(ctx context.Context, e *exchange.Exchanger, wanted *unstructured.Unstructured) error {
	entry, err := e.Find(ctx, configMaps.GroupResource(), "shop", "a")
	if err != nil {
		return err
	}
	if entry != nil {
		_, err = e.Finish(ctx, entry, true)
		return err
	}
	stored, err := e.Objects.Resource(configMaps).Namespace("shop").Get(ctx, "a", metav1.GetOptions{})
	if err != nil || levelOf(stored) == levelOf(wanted) {
		return err
	}
	_, err = e.Replace(ctx, exchange.Target{Resource: configMaps, Old: stored, New: wanted})
	return err
}

// die kills a command.
func (s *sim) die(r *rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.running))
	if len(names) == 0 {
		return ""
	}
	name := names[r.IntN(len(names))]
	s.running[name]()
	return "ends " + name
}

// act does one thing that a user does.
func (s *sim) act(r *rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	switch o := s.store.object; {
	case o == nil && r.IntN(2) == 0:
		s.createObject("7")
		return "creates another object"
	case o == nil:
		return ""
	case r.IntN(3) == 0:
		s.store.object, s.store.deletedByUser = nil, true
		return "deletes the object"
	default:
		o = o.DeepCopy()
		o.SetLabels(map[string]string{"changed": fmt.Sprint(s.store.revision)})
		o.SetResourceVersion(s.store.next())
		s.store.object, s.store.madeFor = o, ""
		return "changes the object"
	}
}

// judge lets the server refuse objects of a level, or accept all.
func (s *sim) judge(r *rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.store.refused = ""; r.IntN(2) == 0 {
		return "accepts every level"
	}
	s.store.refused = fmt.Sprint(1 + r.IntN(4))
	return "refuses level " + s.store.refused
}

// settled ends what commands have left, with a last one.
func (s *sim) settled() error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.refused = ""
	switch {
	case len(s.running) > 0:
		return errors.New("a command runs")
	case s.store.journal != nil && !s.last:
		s.last = true
		s.start(func(ctx context.Context, e *exchange.Exchanger) error { return s.replace(ctx, e, object("1")) })
		return errors.New("the last command runs")
	case s.store.journal != nil:
		// A command does not touch an object that its journal does not have, and keeps the journal. The object may be that of another command: one that
		// was slow, or one that was faster than the command that wrote the journal.
		entry, err := journal.Read(s.store.journal)
		if err != nil {
			return err
		}
		if state := entry.Judge(s.store.object); state != journal.Foreign || s.store.madeFor == s.store.journal.UID {
			return fmt.Errorf("a journal is left, and %s: %w", state, s.lastErr)
		}
	case s.store.object == nil && !s.store.deletedByUser:
		return errors.New("no object is stored")
	}
	return nil
}

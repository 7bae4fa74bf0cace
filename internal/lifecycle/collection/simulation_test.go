package collection_test

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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/lifecycle/collection"
	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/internal/simulation"
)

// TestSoakSimulation runs the controller on a model of the store and of the index. By seed, users publish ConfigMaps and create them again, pods
// begin and end to refer to them, users forge and remove marks, the index and the watch are late, requests fail or lose their answer, hours pass,
// and the controller is killed. The controller never deletes an object that is in use, or that must stay, or too early, or twice.
func TestSoakSimulation(t *testing.T) {
	t.Parallel()
	simulation.Run(t, simulation.Config{
		New: newSimulation, Steps: 400, Rounds: 120,
		Reached: []string{
			"user publishes", "user refers", "user ends", "user deletes", "user keeps", "user unlocks", "user forges", "user removes", "user deselects",
			"controller reads", "controller marks", "controller unmarks", "controller checks", "controller deletes", "controller stores", "controller starts",
			"index learns", "index loses", "index knows", "watch delivers", "watch breaks", "clock passes",
		},
	})
}

// sim is the simulation of a controller, which is killed and started again.
type sim struct {
	world  *simulation.World
	store  *simStore
	index  *simIndex
	client *simClient
	kill   func()
}

func newSimulation(w *simulation.World, _ *rand.Rand) simulation.System {
	s := &sim{world: w, store: newSimStore()}
	s.start()
	return simulation.System{
		Actors: []simulation.Actor{
			{Name: "user", Weight: 5, Step: s.act},
			{Name: "controller", Weight: 12, Step: w.Proceed},
			{Name: "watch", Weight: 6, Step: s.deliver},
			{Name: "watch", Step: func(*rand.Rand) string { return s.client.breakWatch() }},
			{Name: "index", Weight: 6, Step: s.learn},
			simulation.Clock(8, 10*time.Millisecond, time.Second, 20*time.Second, 61*time.Second, 6*time.Minute),
			{Name: "controller", Step: s.restart},
		},
		Check:   func() error { return s.store.wrong },
		Settled: s.settled,
		Rest:    4 * time.Hour,
		Stop:    func() { s.kill() },
	}
}

// start starts a server: the index reads the store, and the controller starts.
func (s *sim) start() {
	s.index, s.store.began = newSimIndex(s.store), time.Now()
	s.client = &simClient{world: s.world, store: s.store}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	config := collection.Config{
		Client: s.client, Informers: informers.NewSharedInformerFactory(s.client, 0), Index: simReader{s.index, s.client},
	}
	go func() { ended <- collection.Run(ctx, config) }()
	s.kill = func() {
		cancel()
		if err := <-ended; err != nil {
			panic(err)
		}
	}
}

// restart kills the controller, and starts another one.
func (s *sim) restart(r *rand.Rand) string {
	if r.IntN(6) > 0 {
		return ""
	}
	s.kill()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.start()
	return "starts again"
}

// deliver delivers an event of the watch.
func (s *sim) deliver(*rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.client.deliver()
}

// learn lets the index learn of a change, or says that references are unknown, or that they are known again.
func (s *sim) learn(r *rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	switch gap := s.index.Incomplete(""); {
	case gap != "" && r.IntN(4) == 0:
		s.index.setGap("")
		return "knows all references"
	case gap == "" && r.IntN(40) == 0:
		s.index.setGap("a kind cannot be read")
		return "loses references"
	}
	if e, ok := s.index.learn(); ok {
		return "learns that " + e.String()
	}
	return ""
}

// act does one thing that a user or a workload does.
func (s *sim) act(r *rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.store.configMaps))
	pod := fmt.Sprint("pod-", r.IntN(4))
	switch n := r.IntN(12); {
	case n < 4 || len(names) == 0:
		return s.publish(r)
	case n < 6:
		name := simName(r)
		s.store.refer(pod, name)
		return "refers from " + pod + " to " + name
	case n < 8 && s.store.pods[pod] != "":
		s.store.refer(pod, "")
		return "ends " + pod
	case n < 8:
		return ""
	}
	name := names[r.IntN(len(names))]
	text := ""
	switch r.IntN(6) {
	case 0:
		s.store.remove(name)
		return "deletes " + name
	case 1:
		s.store.change(name, func(o *corev1.ConfigMap) {
			if _, kept := o.Annotations[keep.Annotation]; kept {
				s.store.setAnnotation(o, keep.Annotation, nil)
				text = "unlocks " + name
			} else {
				s.store.setAnnotation(o, keep.Annotation, new(string))
				text = "keeps " + name
			}
		})
	case 2:
		long := "2000-01-01T00:00:00Z"
		s.store.change(name, func(o *corev1.ConfigMap) { s.store.setAnnotation(o, series.UnusedSinceAnnotation, &long) })
		text = "forges a mark of " + name
	case 3:
		s.store.change(name, func(o *corev1.ConfigMap) { s.store.setAnnotation(o, series.UnusedSinceAnnotation, nil) })
		text = "removes the mark of " + name
	case 4:
		s.store.change(name, func(o *corev1.ConfigMap) { o.Labels[series.CollectLabel] = "no" })
		text = "deselects " + name
	default:
		s.store.change(name, func(o *corev1.ConfigMap) { o.Labels[series.CollectLabel] = series.CollectUnused })
		text = "selects " + name
	}
	return text
}

func simName(r *rand.Rand) string { return fmt.Sprint("s-", r.IntN(6)) }

// publish creates a ConfigMap, perhaps one that existed before.
func (s *sim) publish(r *rand.Rand) string {
	name := simName(r)
	if s.store.configMaps[name] != nil {
		return ""
	}
	s.store.created++
	immutable := true
	o := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: simNamespace, Name: name, UID: types.UID(fmt.Sprint("u", s.store.created)), CreationTimestamp: metav1.Now().Rfc3339Copy(),
			Labels: map[string]string{},
			Annotations: map[string]string{
				series.AfterAnnotation: []string{"1m", "5m", "20m"}[r.IntN(3)], series.KeepLastAnnotation: fmt.Sprint(r.IntN(3)),
			},
		},
		Data: map[string]string{"level": fmt.Sprint(r.IntN(2))}, Immutable: &immutable,
	}
	if r.IntN(8) == 0 {
		o.Immutable = nil
	}
	if r.IntN(2) == 0 {
		o.Labels[series.Label] = simSeries
	} else {
		o.Labels[series.CollectLabel] = series.CollectUnused
	}
	s.store.put(o, watch.Added)
	return fmt.Sprintf("publishes %s (%s) with the level %s, labels %v, annotations %v", name, o.UID, o.Data["level"], o.Labels, o.Annotations)
}

// settled returns what is wrong when users write no more, and the index and the watch are not late.
func (s *sim) settled() error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	late := s.index.Incomplete("") != ""
	s.index.setGap("")
	for _, ok := s.index.learn(); ok; _, ok = s.index.learn() {
		late = true
	}
	for s.client.deliver() != "" {
		late = true
	}
	switch {
	case s.store.wrong != nil:
		return s.store.wrong
	case late:
		return errors.New("events were late")
	}
	return nil
}

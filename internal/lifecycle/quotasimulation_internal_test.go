package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/admission/quota"
	"holdfast.dev/holdfast/internal/simulation"
)

// longestWait is how long requests and watches may take together. A charge expires after ten seconds without an object.
const longestWait = 9 * time.Second

// TestSoakQuota runs two servers that charge a quota, and the controller that releases it, on a model of the store. By seed, users create, delete
// and finish objects, requests fail or lose their answer, objects are rejected after they were charged, watches are late, and the controller
// is killed. The objects never use more than the quota allows, or than its status says, and at the end the status is the sum.
func TestSoakQuota(t *testing.T) {
	t.Parallel()
	klog.LogToStderr(false) // the controllers log the errors of the model
	klog.SetOutput(io.Discard)
	simulation.Run(t, simulation.Config{
		New: newQuotaSimulation, Steps: 300, Rounds: 100,
		Reached: []string{
			"user creates", "user deletes", "user finishes", "user raises", "user replaces", "request reads", "request lists", "request writes",
			"request stores", "watch delivers", "clock passes", "controller starts", "server refuses", "server stores", "server rejects", "server fails",
		},
	})
}

// quotaRun is the simulation of two servers and a controller.
type quotaRun struct {
	world   *simulation.World
	store   *quotaStore
	servers []*quota.Admission
	// answers are those of the servers, and not shown yet.
	answers []string
	kill    func()
}

func newQuotaSimulation(w *simulation.World, random *rand.Rand) simulation.System {
	hard := corev1.ResourceList{"secrets": resource.MustParse("4"), "pods": resource.MustParse("3"), "requests.cpu": resource.MustParse("2")}
	s := &quotaRun{world: w, store: &quotaStore{
		objects: map[types.UID]*modelObject{}, pending: map[types.UID]time.Time{}, replaces: random.IntN(2) == 0,
		quota: &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: quotaNamespace, Name: "quota", UID: "q", ResourceVersion: "0"},
			Spec:       corev1.ResourceQuotaSpec{Hard: hard},
			Status:     corev1.ResourceQuotaStatus{Hard: hard, Used: quotav1.Subtract(hard, hard)},
		},
	}}
	ctx, cancel := context.WithCancel(context.Background())
	for _, name := range []string{"server a", "server b"} {
		informer := quotaInformer{newModelInformer()}
		s.follow(name, informer.indexer, nil)
		client := &quotaClient{name: name, world: w, store: s.store}
		s.servers = append(s.servers, quota.NewAdmission(informer, client))
	}
	s.start()
	return simulation.System{
		Actors: []simulation.Actor{
			{Name: "user", Weight: 6, Step: func(r *rand.Rand) string { return s.act(ctx, r) }},
			{Name: "request", Weight: 16, Step: w.Proceed},
			{Name: "server", Weight: 4, Step: s.answer},
			{Name: "watch", Weight: 10, Step: s.deliver},
			s.clock(),
			{Name: "controller", Step: s.restart},
		},
		Check: s.store.check, Settled: s.settled, Rest: time.Minute,
		Stop: func() {
			cancel()
			s.kill()
		},
	}
}

// follow adds a reader that keeps the quota in an indexer. It calls also with the changes of objects.
func (s *quotaRun) follow(name string, indexer cache.Indexer, also func(quotaEvent)) *quotaReader {
	reader := &quotaReader{name: name}
	reader.apply = func(e quotaEvent) {
		if e.quota != nil {
			if err := indexer.Update(e.quota); err != nil {
				panic(err)
			}
		}
		if also != nil {
			also(e)
		}
	}
	reader.apply(quotaEvent{quota: s.store.quota})
	s.store.readers = append(s.store.readers, reader)
	return reader
}

// start starts the controller with what is stored now. It returns with its readers following the store.
func (s *quotaRun) start() {
	ctx, cancel := context.WithCancel(context.Background())
	ledger, stored, pods := quota.NewLedger(), newModelInformer(), newModelInformer()
	c := &quotas{
		typed: &quotaClient{name: "controller", world: s.world, store: s.store}, ledger: ledger, store: stored.indexer,
		evaluated: map[schema.GroupResource]cache.SharedIndexInformer{
			corev1.Resource("pods"): pods, corev1.Resource("services"): newModelInformer(), corev1.Resource("persistentvolumeclaims"): newModelInformer(),
		},
	}
	loop := newLoop(c)
	ledger.Notify(loop.Add)
	name := cache.NewObjectName(quotaNamespace, "quota")
	before := len(s.store.readers)
	s.follow("quota", stored.indexer, func(e quotaEvent) {
		if e.quota != nil {
			loop.Add(name)
		}
	})
	// An informer first changes its store, and calls the handlers later.
	handlers := &quotaReader{name: "handler of pods", derived: true}
	handler := c.observer(corev1.Resource("pods"))
	handlers.apply = func(e quotaEvent) { handle(handler, e) }
	indexed := &quotaReader{name: "store of pods", apply: func(e quotaEvent) {
		if isPod(e) {
			handle(index(pods.indexer), e)
			handlers.events = append(handlers.events, e)
		}
	}}
	count := &quotaReader{name: "counter of secrets", apply: func(e quotaEvent) {
		switch {
		case e.after != nil && e.after.secret != nil:
			ledger.Count(corev1.Resource("secrets"), quotaNamespace, 1)
		case e.after == nil && e.before != nil && e.before.secret != nil:
			ledger.Count(corev1.Resource("secrets"), quotaNamespace, -1)
		}
	}}
	ledger.WatchStarted(corev1.Resource("secrets"))
	for _, uid := range slices.Sorted(maps.Keys(s.store.objects)) {
		indexed.apply(quotaEvent{after: s.store.objects[uid], since: time.Now()})
		count.apply(quotaEvent{after: s.store.objects[uid]})
	}
	ledger.Listed(corev1.Resource("secrets"))
	ledger.Discovered()
	s.store.readers = append(s.store.readers, indexed, count, handlers)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		loop.Run(ctx)
	}()
	s.kill = func() {
		cancel()
		<-ended
		s.store.readers = s.store.readers[:before]
	}
}

func isPod(e quotaEvent) bool {
	return e.before != nil && e.before.pod != nil || e.after != nil && e.after.pod != nil
}

// handle calls an event handler with a change of a pod.
func handle(handler cache.ResourceEventHandler, e quotaEvent) {
	switch {
	case e.before == nil && e.after != nil:
		handler.OnAdd(e.after.pod, false)
	case e.after == nil && e.before != nil:
		handler.OnDelete(e.before.pod)
	case e.after != nil:
		handler.OnUpdate(e.before.pod, e.after.pod)
	}
}

// index returns an event handler that changes an indexer.
func index(indexer cache.Indexer) cache.ResourceEventHandler {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { must(indexer.Add(obj)) },
		UpdateFunc: func(_, obj any) { must(indexer.Update(obj)) },
		DeleteFunc: func(obj any) { must(indexer.Delete(obj)) },
	}
}

// restart kills the controller, and starts another one.
func (s *quotaRun) restart(r *rand.Rand) string {
	if r.IntN(6) > 0 {
		return ""
	}
	s.kill()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.start()
	return "starts again"
}

// clock returns an actor that lets time pass, unless a request or an event would wait too long.
func (s *quotaRun) clock() simulation.Actor {
	durations := []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, time.Second, 5 * time.Second, 12 * time.Second}
	return simulation.Actor{Name: "clock", Weight: 4, Step: func(r *rand.Rand) string {
		d := durations[r.IntN(len(durations))]
		s.store.mu.Lock()
		oldest, waiting := s.store.oldest()
		s.store.mu.Unlock()
		if waiting && oldest+d > longestWait {
			return ""
		}
		simulation.Pass(d)
		return "passes " + d.String()
	}}
}

// deliver delivers an event to one of the readers.
func (s *quotaRun) deliver(r *rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	var late []*quotaReader
	for _, reader := range s.store.readers {
		if len(reader.events) > 0 {
			late = append(late, reader)
		}
	}
	if len(late) == 0 {
		return ""
	}
	reader := late[r.IntN(len(late))]
	e := reader.events[0]
	reader.events = reader.events[1:]
	reader.apply(e)
	return "delivers to the " + reader.name + " " + e.String()
}

// answer shows what a server did.
func (s *quotaRun) answer(*rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if len(s.answers) == 0 {
		return ""
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	return next
}

// settled returns what is wrong when all requests have ended, and all events are delivered.
func (s *quotaRun) settled() error {
	late := false
	for s.deliver(rand.New(rand.NewPCG(1, 1))) != "" {
		late = true
	}
	if err := s.store.check(); err != nil {
		return err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if late || len(s.store.pending) > 0 {
		return errors.New("events or answers are late")
	}
	if used := s.store.used(); !quotav1.Equals(used, s.store.quota.Status.Used) {
		return fmt.Errorf("the objects use %s, and the status has %s", quantities(used), quantities(s.store.quota.Status.Used))
	}
	return nil
}

func quantities(list corev1.ResourceList) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		texts = append(texts, fmt.Sprintf("%s=%s", name, quantity.String()))
	}
	return fmt.Sprint(texts)
}

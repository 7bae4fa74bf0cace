package selection_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/apiserver/selection"
	"holdfast.dev/holdfast/internal/simulation"
)

// TestSoakSimulation shows the selection and the index of references the past, on a model of etcd. By seed, users write ConfigMaps, Secrets
// and pods; the streams of the three resources are late, each by itself; watches break, are resumed or begin with a list, while events of
// the broken watch still arrive; etcd forgets old revisions; the progress of a stream is reported late or not; the server starts again. Agents
// list, watch, lose their connection, resume, and list again after 410. At each moment both answer what follows from the revisions that
// their streams have reached. Whenever all is quiet, each agent has the objects that its node uses.
func TestSoakSimulation(t *testing.T) {
	t.Parallel()
	simulation.Run(t, simulation.Config{
		New: newSim, Steps: 600, Rounds: 25,
		Reached: []string{
			"user creates", "user changes", "user deletes", "user recreates", "user replaces", "user fixes", "user binds", "user bursts:", "user writes",
			"stream delivers", "stream late:", "stream breaks", "stream stops", "stream resumes", "stream cannot", "stream streams", "stream lists",
			"stream receives", "stream fails:", "stream asks", "etcd compacts", "server starts", "server sends",
			"agent lists", "agent streams", "agent resumes", "agent waits", "agent reads:", "agent disconnects", "agent flaps:", "world is",
		},
	})
}

var simKinds = map[string]selection.Kind{
	"configmaps": {Resource: "configmaps", New: func() selection.Object { return &corev1.ConfigMap{} }, Fixed: isFixed},
	"secrets":    {Resource: "secrets", New: func() selection.Object { return &corev1.Secret{} }, Fixed: isFixed},
}

// sim is a server on a model of etcd, and its clients.
type sim struct {
	ctx     context.Context
	etcd    *simEtcd
	server  *simServer
	clients []*simClient
	// random has the random numbers of the step. It is nil when all is to become quiet.
	random *rand.Rand
	wrong  error
}

func newSim(*simulation.World, *rand.Rand) simulation.System {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sim{ctx: ctx, etcd: newSimEtcd()}
	s.start()
	for _, name := range simNodes {
		for _, resource := range simResources[1:] {
			s.clients = append(s.clients, &simClient{sim: s, node: name, resource: resource})
		}
	}
	step := func(do func(r *rand.Rand) string) func(*rand.Rand) string {
		return func(r *rand.Rand) string {
			s.random = r
			return do(r)
		}
	}
	return simulation.System{
		Actors: []simulation.Actor{
			{Name: "user", Weight: 24, Step: step(s.write)},
			{Name: "user", Step: step(s.burst)},
			{Name: "user", Weight: 2, Step: step(s.lease)},
			{Name: "stream", Weight: 36, Step: step(func(r *rand.Rand) string { return s.server.readers[simResources[r.IntN(3)]].step(r) })},
			{Name: "agent", Weight: 30, Step: step(func(r *rand.Rand) string { return s.clients[r.IntN(len(s.clients))].step(r) })},
			{Name: "etcd", Step: step(s.compact)},
			{Name: "server", Weight: 2, Step: step(s.bookmark)},
			{Name: "server", Step: step(s.restart)},
			{Name: "world", Step: step(s.quiet)},
			simulation.Clock(2, 10*time.Millisecond, time.Second, time.Minute),
		},
		Check: s.check,
		Settled: func() error {
			s.settle()
			return s.check()
		},
		Stop: func() {
			s.kill()
			cancel()
		},
	}
}

// kill ends the server.
func (s *sim) kill() {
	for _, c := range s.clients {
		c.disconnect()
	}
	for _, resource := range simResources {
		r := s.server.readers[resource]
		if r.current != nil {
			r.breakWatch()
		}
		r.stop()
	}
}

// restart kills the server and starts another one. Something else is written before it lists: without that, an agent that resumes at the last revision
// may miss events, as the doc comment of the package says.
func (s *sim) restart(r *rand.Rand) string {
	if r.IntN(3) > 0 {
		return ""
	}
	s.kill()
	s.lease(r)
	s.start()
	if r.IntN(2) == 0 {
		s.settle()
		return fmt.Sprintf("starts again, and is quiet at %d", s.etcd.revision)
	}
	return "starts again"
}

// compact makes etcd forget old revisions.
func (s *sim) compact(r *rand.Rand) string {
	s.etcd.compacted = max(s.etcd.compacted, s.etcd.revision-r.Uint64N(5))
	return fmt.Sprintf("compacts up to %d", s.etcd.compacted)
}

func (s *sim) bookmark(r *rand.Rand) string {
	resource := simResources[1+r.IntN(2)]
	s.server.selection.Bookmark(s.ctx, resource)
	return "sends bookmarks for " + resource
}

// quiet lets all readers and clients read everything.
func (s *sim) quiet(r *rand.Rand) string {
	if r.IntN(2) > 0 {
		return ""
	}
	s.settle()
	return fmt.Sprintf("is quiet at %d", s.etcd.revision)
}

// settle lets all readers and clients read everything, and checks what the clients have. It also writes something else, as the leader of the
// controllers does every few seconds: a list may have to wait for the next write to etcd, if the history of the selection has forgotten an event that
// was late.
func (s *sim) settle() {
	s.random = nil
	for range 2 {
		for _, resource := range simResources {
			s.server.readers[resource].settle()
		}
		s.etcd.revision++
	}
	for _, c := range s.clients {
		c.settle()
	}
}

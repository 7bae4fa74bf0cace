package faults_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// Concurrent clients of one server get linearizable answers, also when the server is killed and
// paused.
func TestLinearizableOneServer(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	server := newServer(filepath.Join(t.TempDir(), "data"))
	server.start(t)
	h := newHistory(t, server.client.Load())
	ctx, stop := context.WithCancel(t.Context())
	wait := h.run(ctx, s, server)
	random := s.random("faults")
	for range rounds(t, 1, 20) {
		h.progress(t, 1+random.IntN(200))
		server.kill()
		server.start(t)
		h.settle()
		h.progress(t, 1+random.IntN(200))
		server.pause(t)
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
		server.resume()
	}
	h.progress(t, 50)
	stop()
	wait()
	h.check(t, model)
}

// The same on two servers that share an etcd. Each of them is killed and paused while the clients use
// the other one.
func TestLinearizableReplicas(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	etcd := startCluster(t, 1)
	servers := etcd.servers(t, 2)
	h := newHistory(t, servers[0].client.Load())
	ctx, stop := context.WithCancel(t.Context())
	wait := h.run(ctx, s, servers...)
	random := s.random("faults")
	for range rounds(t, 1, 20) {
		h.progress(t, 1+random.IntN(200))
		killed := servers[random.IntN(2)]
		killed.kill()
		h.progress(t, 1+random.IntN(50))
		killed.start(t)
		paused := servers[random.IntN(2)]
		paused.pause(t)
		h.progress(t, 1+random.IntN(50))
		paused.resume()
	}
	h.progress(t, 50)
	stop()
	wait()
	h.check(t, model)
}

package faults_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/watchcheck"
	"holdfast.dev/holdfast/internal/watchcheck/writes"
)

// streams watch the servers of a fault test in all forms and encodings, from their first start to the end of the test, while a writer changes,
// replaces and deletes objects. At the end they are compared with the history of etcd.
type streams struct {
	// urls are those of the members of etcd. Without them, etcd is in the process of the server.
	urls []string
	// alone restricts the streams to the objects of their writer.
	alone bool

	mutex   sync.Mutex
	servers []*server
	random  *rand.Rand
	all     []*stream
	writer  *streamWriter
	log     *writes.Log
}

func newStreams(urls ...string) *streams { return &streams{urls: urls} }

// namespace is that of the streamed objects, empty for all.
func (s *streams) namespace() string {
	if s.alone {
		return streamNamespace
	}
	return ""
}

// watch takes over a server that was started. With the first one the streams begin.
func (s *streams) watch(t *testing.T, one *server) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case len(s.urls) == 0:
		s.servers = []*server{one}
	case !slices.Contains(s.servers, one):
		s.servers = append(s.servers, one)
	}
	if s.writer != nil {
		return
	}
	s.random = newSeed(t).random("streams")
	s.log = writes.New(streamKinds[0].stored(s.namespace()), streamKinds[1].stored(s.namespace()))
	s.writer = &streamWriter{set: s, random: rand.New(rand.NewPCG(s.random.Uint64(), 0))}
	for _, v := range variants(s.alone) {
		s.all = append(s.all, &stream{variant: v, set: s, recorded: watchcheck.Stream{Name: v.String(), Form: v.shows(), Selects: v.selects}})
	}
	// t.Context ends before the cleanups run.
	watching, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	writing, stopWriting := context.WithCancel(watching)
	var running, wrote sync.WaitGroup
	wrote.Go(func() { s.writer.run(writing, t) })
	for _, one := range s.all {
		running.Go(func() { one.run(watching) })
	}
	t.Cleanup(func() {
		defer running.Wait()
		defer stop()
		stopWriting()
		wrote.Wait()
		var resumed []*resumedStream
		if s.alive() && !t.Failed() {
			resumed = s.finish(watching, t)
		}
		stop()
		running.Wait()
		s.check(t, resumed)
	})
}

// server returns one of the servers, and its client.
func (s *streams) server() (*server, *client) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	one := s.servers[s.random.IntN(len(s.servers))]
	return one, one.client.Load()
}

// seconds returns after how many seconds a watch ends, and the client resumes.
func (s *streams) seconds() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return 2 + s.random.IntN(10)
}

// renew makes a new client of a server, whose kubeconfig may have another certificate now.
func (s *streams) renew(one *server) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if c, err := newClient(one.kubeconfig()); err == nil {
		one.client.Store(c)
	}
}

// alive reports whether a server runs.
func (s *streams) alive() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.ContainsFunc(s.servers, func(one *server) bool {
		select {
		case <-one.ended:
			return false
		default:
			return true
		}
	})
}

// readEvery is the number of revisions after which the history of etcd in the process of a server is read. The server keeps more of them.
const readEvery = 4000

// readBefore reads the history of a server that is about to start again, if it is so long that the server may remove a part.
func (s *streams) readBefore(t *testing.T, one *server) {
	t.Helper()
	if len(s.urls) > 0 || s.log == nil {
		return
	}
	var last uint64
	for _, stream := range s.all {
		last = max(last, stream.position.Load())
	}
	if last > s.log.Next()+readEvery {
		s.read(t, one.dataDir)
	}
}

// read reads the history of etcd. If it is in a server, its process must have ended.
func (s *streams) read(t *testing.T, dataDir string) {
	t.Helper()
	urls := s.urls
	if len(urls) == 0 {
		dir := filepath.Join(dataDir, "etcd")
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("there is no history of etcd: %v", err)
		}
		m := &member{program: filepath.Join(programs, "etcd"), url: "http://" + freeAddress(t)}
		peer := "http://" + freeAddress(t)
		m.flags = []string{
			"--name", "holdfast", "--data-dir", dir, "--log-level", "fatal", "--initial-cluster", "holdfast=" + peer,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--listen-client-urls", m.url, "--advertise-client-urls", m.url,
		}
		m.start(t)
		defer m.kill()
		urls = []string{m.url}
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: urls, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waittest.Patience)
	defer cancel()
	waittest.Until(t, "the history of etcd is read", func() error { return s.log.Read(ctx, client) })
}

// check compares all streams with the history of etcd.
func (s *streams) check(t *testing.T, resumed []*resumedStream) {
	t.Helper()
	if len(s.urls) == 0 {
		s.servers[0].kill()
	}
	s.read(t, s.servers[0].dataDir)
	var total watchcheck.Report
	expired := 0
	for _, one := range s.all {
		if one.problem != nil {
			t.Errorf("%s: %v", one.variant, one.problem)
		}
		report := one.recorded.Check(s.log.Truth(one.kind.stored(s.namespace())))
		expired += one.expired
		total.Add(report)
	}
	if total.Events == 0 && len(resumed) > 0 {
		t.Error("no event was checked")
	}
	var again watchcheck.Report
	for _, one := range resumed {
		again.Add(one.recorded.Check(s.log.Truth(one.kind.stored(s.namespace()))))
	}
	const shown = 5
	violations := slices.Concat(total.Violations, again.Violations)
	for _, violation := range violations[:min(shown, len(violations))] {
		t.Error(violation)
	}
	if len(violations) > shown {
		t.Errorf("%d violations more", len(violations)-shown)
	}
	count := 0
	for _, k := range streamKinds {
		count += s.log.Truth(k.stored(s.namespace())).Writes()
	}
	t.Logf("%d streams of %d writes: %s, %d lists after 410; resumed at an old revision: %s", len(s.all), count, total, expired, again)
}

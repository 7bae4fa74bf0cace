package faults_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
)

// server is an API server that a test starts, kills and starts again with the same data.
type server struct {
	// program is the file that is started.
	program string
	dataDir string
	flags   []string
	// env are more environment variables.
	env []string
	*process
	// launched are the processes of all starts.
	launched []*process
	client   atomic.Pointer[client]
	// streams watch the server from its first start to the end of the test.
	streams *streams
}

// auditInterval is the time between two comparisons of the caches of a server with etcd. A test fails if one finds a difference.
const auditInterval = "2s"

// newServer returns a server that is not started.
func newServer(dataDir string, flags ...string) *server {
	return &server{
		program: filepath.Join(programs, "holdfast"), dataDir: dataDir, streams: newStreams(),
		flags: slices.Concat([]string{"serve", "--data-dir", dataDir, "--secure-port", "0", "--cache-audit-interval", auditInterval}, flags),
	}
}

// kubeconfig returns the file with the credential of the administrator.
func (s *server) kubeconfig() string { return filepath.Join(s.dataDir, "admin.kubeconfig") }

// start starts the server and waits until it is ready.
func (s *server) start(t *testing.T) {
	t.Helper()
	s.streams.readBefore(t, s)
	s.end(t, s.launch(t))
	s.connect(t)
}

// end takes over a process that was launched. The server runs until the end of the test, so that its streams can be checked before.
func (s *server) end(t *testing.T, p *process) {
	t.Helper()
	s.process = p
	if s.launched = append(s.launched, p); len(s.launched) > 1 {
		return
	}
	t.Cleanup(func() {
		for _, p := range s.launched {
			p.kill()
			if line := p.output.alarm(); line != "" {
				t.Errorf("a cache of the server differed from etcd: %s", line)
			}
		}
	})
}

// launch starts the server.
func (s *server) launch(t *testing.T) *process {
	t.Helper()
	cmd := exec.Command(s.program, s.flags...)
	cmd.Env = append(os.Environ(), s.env...)
	p, err := launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// connect waits until a started server is ready, and makes its client.
func (s *server) connect(t *testing.T) {
	t.Helper()
	if _, err := s.firstLine(); err != nil {
		t.Fatal(err)
	}
	client, err := newClient(s.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	s.client.Store(client)
	s.streams.watch(t, s)
}

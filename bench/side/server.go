package side

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Side is a kind of server.
type Side struct {
	// Name is the name of the side in reports.
	Name string
	// Collects says that a controller of the server deletes the pods of nodes that do not exist.
	Collects bool

	start func(dir string) (*Server, error)
}

// Server is a running server. The caller must call Stop.
type Server struct {
	// Ready is the time from the start of the first process until /readyz answered 200.
	Ready time.Duration

	side Side
	dir  string
	url  string
	// etcdURL is the address of an etcd process of its own, and empty if etcd is part of the server.
	etcdURL   string
	authority *authority
	// processes are the processes in the order of their start. Those of the peer are etcd and kube-apiserver.
	processes []*process
}

// Administrator returns a user that may do everything.
func Administrator() User { return User{Name: "admin", Groups: []string{"system:masters"}} }

// Start starts a server in a new directory below dir, and waits until it is ready.
func (s Side) Start(dir string) (*Server, error) {
	at, err := os.MkdirTemp(dir, "side-")
	if err != nil {
		return nil, err
	}
	return s.startIn(at)
}

func (s Side) startIn(dir string) (*Server, error) {
	server, err := s.start(dir)
	if err != nil {
		if server != nil {
			server.Stop()
		}
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	server.side, server.dir = s, dir
	return server, nil
}

// Version returns the version that the server answers.
func (s *Server) Version(ctx context.Context) (string, error) {
	client, err := s.Client(Administrator())
	if err != nil {
		return "", err
	}
	defer client.Close()
	answer, err := client.Do(ctx, Request{Method: http.MethodGet, Path: "/version"})
	if err != nil {
		return "", err
	}
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	return version.GitVersion, json.Unmarshal(answer, &version)
}

// Restart starts a new server with the data of this one, which must be stopped.
func (s *Server) Restart() (*Server, error) { return s.side.startIn(s.dir) }

// KillAndStart kills the API server without warning, and starts it again at the same address. It returns when the server is ready.
func (s *Server) KillAndStart() error {
	if err := s.processes[len(s.processes)-1].restart(); err != nil {
		return err
	}
	return s.waitReady(time.Now(), func() (*authority, error) { return s.authority, nil })
}

// Kill ends the processes without warning, and waits for their end. A server that takes all memory of the machine leaves no time for
// Stop, which the caller calls all the same.
func (s *Server) Kill() {
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].kill()
	}
}

// Dir returns the directory with the files of the server.
func (s *Server) Dir() string { return s.dir }

// Stop ends the processes, the last started first, and waits for their end.
func (s *Server) Stop() {
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].stop()
	}
}

// readyTimeout is the time in which a server must become ready.
const readyTimeout = 2 * time.Minute

// waitReady waits until /readyz answers 200 and sets Ready. It calls authority until that succeeds, because a server may create its
// authority during the start.
func (s *Server) waitReady(started time.Time, authority func() (*authority, error)) error {
	var client *Client
	for {
		last := func() (err error) {
			if s.authority == nil {
				if s.authority, err = authority(); err != nil {
					return err
				}
			}
			if client == nil {
				if client, err = s.Client(Administrator()); err != nil {
					return err
				}
			}
			_, err = client.Do(context.Background(), Request{Method: http.MethodGet, Path: "/readyz"})
			return err
		}()
		if last == nil {
			s.Ready = time.Since(started)
			return nil
		}
		for _, p := range s.processes {
			if err := p.running(); err != nil {
				return err
			}
		}
		if time.Since(started) > readyTimeout {
			return fmt.Errorf("not ready after %s: %w", readyTimeout, last)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

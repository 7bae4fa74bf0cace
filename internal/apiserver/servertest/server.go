// Package servertest runs the real server for tests, in the process of the test and on a free
// port of the loopback interface.
//
//	server := servertest.Start(t, apiserver.Config{})
//	client := server.Client(t)
//	cluster := server.Cluster(t) // with a dynamic client and a namespace
//
// A server stops before its test ends. If it does not stop cleanly, the test fails. The logs of
// the server are dropped.
package servertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
)

// Quiet drops the logs of the libraries, for the whole process. Launch calls it. A test without
// a server in its process calls it first of all, because klog cannot be configured safely while
// other goroutines log.
func Quiet() { quiet() }

var quiet = sync.OnceFunc(func() {
	flags := flag.NewFlagSet("logging", flag.PanicOnError)
	klog.InitFlags(flags)
	// klog writes messages of this severity and above to stderr as well.
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
})

// Server is a running server.
type Server struct {
	*apiserver.Server

	cancel context.CancelFunc
	ended  chan error
	once   sync.Once
	err    error
}

// Start runs a server, waits until it is ready, and stops it when the test ends. Without a data
// directory in the config it uses a temporary one.
func Start(t testing.TB, config apiserver.Config) *Server {
	t.Helper()
	if config.DataDir == "" {
		config.DataDir = t.TempDir()
	}
	server, err := Launch(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("server ended with %v", err)
		}
	})
	return server
}

// Launch runs a server and waits until it is ready. It is for a server that several tests
// share. The caller stops it.
func Launch(config apiserver.Config) (*Server, error) {
	quiet()
	ctx, cancel := context.WithCancel(context.Background())
	server, err := apiserver.New(ctx, config)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &Server{Server: server, cancel: cancel, ended: make(chan error, 1)}
	ready := make(chan struct{})
	go func() { s.ended <- server.Run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
		return s, nil
	case err := <-s.ended:
		cancel()
		return nil, fmt.Errorf("server ended before it was ready: %w", err)
	case <-time.After(waittest.Patience):
		cancel()
		return nil, errors.Join(errors.New("server is not ready in time"), <-s.ended)
	}
}

// Main runs the tests of a package on one server that they share. It calls open with the
// client config of the administrator before the first test.
func Main(m *testing.M, open func(*rest.Config) error) int {
	code, err := runShared(m, open)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runShared(m *testing.M, open func(*rest.Config) error) (int, error) {
	dir, err := os.MkdirTemp("", "holdfast")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := Launch(apiserver.Config{DataDir: dir})
	if err != nil {
		return 0, err
	}
	config, err := administrator(server.Kubeconfig())
	if err == nil {
		err = open(config)
	}
	if err != nil {
		return 0, errors.Join(err, server.Stop())
	}
	code := m.Run()
	return code, server.Stop()
}

// Stop stops the server and returns its error. A second call returns the same.
func (s *Server) Stop() error {
	s.once.Do(func() {
		s.cancel()
		s.err = <-s.ended
	})
	return s.err
}

// Config returns the client config of the administrator, without client-side rate limits.
func (s *Server) Config(t testing.TB) *rest.Config {
	t.Helper()
	return Config(t, s.Kubeconfig())
}

// As returns the client config of the administrator, impersonating a user. The user is in the
// given groups and in system:authenticated.
func (s *Server) As(t testing.TB, user string, groups ...string) *rest.Config {
	t.Helper()
	config := s.Config(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return config
}

// Client returns a typed client of the administrator.
func (s *Server) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	return kubernetes.NewForConfigOrDie(s.Config(t))
}

// Config returns the client config of a kubeconfig file, without client-side rate limits.
func Config(t testing.TB, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := administrator(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func administrator(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

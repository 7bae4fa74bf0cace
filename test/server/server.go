// Package server starts the API server that a test of clients talks to.
//
//	kubeconfig := server.Start(t)
//
// The server lives in a temporary directory on a free port of the loopback
// interface and ends with the test that started it.
package server

import (
	"context"
	"io"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/apiserver"
)

// startTimeout is far above what a start takes, so that only a server that
// hangs meets it.
const startTimeout = time.Minute

// Start starts a server, waits until it is ready, and gives the path of its
// administrator's kubeconfig. The server is stopped when t and its subtests are
// done; a server that does not end cleanly fails t.
func Start(t testing.TB) (kubeconfig string) {
	t.Helper()
	quiet()
	ctx, stop := context.WithCancel(context.Background()) //nolint:usetesting // it ends in the cleanup below, after t.Context has
	s, err := apiserver.New(ctx, apiserver.Config{DataDir: t.TempDir()})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		stop()
		t.Fatalf("server ended before it was ready: %v", err)
	case <-time.After(startTimeout):
		stop()
		t.Fatal("server is not ready in time")
	}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("server did not end cleanly: %v", err)
		}
	})
	return s.Kubeconfig()
}

// quiet keeps what the server logs out of the output of tests, but for errors.
func quiet() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}

// StartConfig starts a server like Start and gives the configuration of an
// administrator's client that is not held back by client-side rate limits.
func StartConfig(t testing.TB) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", Start(t))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
)

const (
	// A review is small and its answer quick; who is slower than this is stuck.
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	// drainTimeout is how long a shutdown waits for reviews under way.
	drainTimeout = 4 * time.Second
)

// serve serves until ctx ends and what is under way is answered.
func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	server.ReadTimeout, server.WriteTimeout = readTimeout, writeTimeout
	drained := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		drained <- server.Shutdown(draining)
	})()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve at %s: %w", listener.Addr(), err)
	}
	return <-drained
}

// healthServer tells whether the process is there, and what it counts. It has a
// certificate before it listens, so to be there is to be ready.
func healthServer() *http.Server {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		mux.HandleFunc("GET "+path, func(out http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(out, "ok")
		})
	}
	mux.Handle("GET /metrics", legacyregistry.Handler())
	return &http.Server{Handler: mux}
}

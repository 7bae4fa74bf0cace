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
	// readTimeout and writeTimeout bound one review, which is small.
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	// drainTimeout is the time that a shutdown waits for open requests.
	drainTimeout = 4 * time.Second
)

// serve serves until ctx ends, and then waits for open requests.
func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	server.ReadTimeout, server.WriteTimeout = readTimeout, writeTimeout
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		stopped <- server.Shutdown(limited)
	})()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve at %s: %w", listener.Addr(), err)
	}
	return <-stopped
}

// healthServer serves the health checks and the metrics. The checks always succeed: Run starts
// the server only after it has the certificate of the webhook, so the process is ready.
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

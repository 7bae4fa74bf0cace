// Package webhook serves an admission webhook: it has the certificate, made and renewed by this
// package or by another program, and the health checks.
//
//	keys, err := webhook.Secret{Namespace: "guard", Name: "webhook"}.Open(ctx, client)
//	go keys.Keep(ctx)
//	server := &http.Server{Handler: reviews, TLSConfig: &tls.Config{GetCertificate: keys.Certificate}}
//	err = webhook.Serve(ctx, server, listener)
//
// Everything here is safe for concurrent use.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
)

const (
	// readTimeout and writeTimeout bound one review, which is small.
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	// drainTimeout is the time that a shutdown waits for open requests.
	drainTimeout = 4 * time.Second
)

// Serve serves until ctx ends, and then waits for open requests.
func Serve(ctx context.Context, server *http.Server, listener net.Listener) error {
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

// Health returns a server for the health checks and the metrics. Start it when the process can answer reviews. /readyz answers 503
// with the error of ready, which may be nil; the other checks always succeed. The metrics are those of the libraries, and own.
func Health(ready func() error, own ...prometheus.Gatherer) *http.Server {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		mux.HandleFunc("GET "+path, func(out http.ResponseWriter, _ *http.Request) {
			if path == "/readyz" && ready != nil {
				if err := ready(); err != nil {
					http.Error(out, err.Error(), http.StatusServiceUnavailable)
					return
				}
			}
			_, _ = io.WriteString(out, "ok")
		})
	}
	all := append(prometheus.Gatherers{legacyregistry.DefaultGatherer}, own...)
	mux.Handle("GET /metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{ProcessStartTime: legacyregistry.GetProcessStart()}))
	return &http.Server{Handler: mux}
}

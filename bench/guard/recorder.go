package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"holdfast.dev/holdfast/bench/side"
)

// immutablePath is the path of the webhook for immutable fields, before its token. The guard has another one for field ownership.
const immutablePath = "/immutable/"

// recorder is between kube-apiserver and a guard, and keeps the last review.
type recorder struct {
	cluster *cluster
	guard   *side.Component
	// backend is the URL of the guard.
	backend string
	client  *http.Client
	server  *http.Server

	mu   sync.Mutex
	last recording
}

// startRecorder installs the guard on a cluster, and starts it behind a recorder. The caller must call stop.
func (t *trial) startRecorder(ctx context.Context, c *cluster) (*recorder, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	url := "https://" + listener.Addr().String()
	if err := t.installGuard(ctx, c, url); err != nil {
		return nil, err
	}
	serving, roots, err := guardKeys(ctx, c)
	if err != nil {
		return nil, err
	}
	ports, err := side.FreePorts(1)
	if err != nil {
		return nil, err
	}
	r := &recorder{cluster: c, backend: "https://127.0.0.1:" + ports[0]}
	if r.guard, err = t.startGuard(c, "guard", "127.0.0.1:"+ports[0], url); err != nil {
		return nil, err
	}
	r.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	r.server = &http.Server{Handler: r, TLSConfig: &tls.Config{Certificates: []tls.Certificate{serving}}}
	go func() { _ = r.server.ServeTLS(listener, "", "") }()
	return r, nil
}

// guardKeys reads the keys of the guard from its Secret: the recorder answers with the same certificate.
func guardKeys(ctx context.Context, c *cluster) (tls.Certificate, *x509.CertPool, error) {
	text, err := c.client.Do(ctx, side.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/holdfast-guard/secrets/holdfast-guard-webhook"})
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	var secret struct{ Data map[string][]byte }
	if err := json.Unmarshal(text, &secret); err != nil {
		return tls.Certificate{}, nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	return pair, roots, err
}

// ServeHTTP sends a review to the guard, and its answer back.
func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	asked, answered, err := r.forward(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	var review struct{ Request, Response json.RawMessage }
	for _, text := range [][]byte{asked, answered} {
		if err := json.Unmarshal(text, &review); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
	}
	if strings.HasPrefix(request.URL.Path, immutablePath) {
		r.mu.Lock()
		r.last = recording{Request: review.Request, Response: review.Response}
		r.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answered)
}

func (r *recorder) forward(request *http.Request) (asked, answered []byte, err error) {
	if asked, err = io.ReadAll(request.Body); err != nil {
		return nil, nil, err
	}
	sent, err := http.NewRequestWithContext(request.Context(), http.MethodPost, r.backend+request.URL.Path, bytes.NewReader(asked))
	if err != nil {
		return nil, nil, err
	}
	sent.Header.Set("Content-Type", request.Header.Get("Content-Type"))
	response, err := r.client.Do(sent)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answered, err = io.ReadAll(response.Body)
	return asked, answered, err
}

// take returns the last review and forgets it.
func (r *recorder) take() recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last
	r.last = recording{}
	return last
}

func (r *recorder) stop() {
	_ = r.server.Close()
	r.guard.Stop()
}

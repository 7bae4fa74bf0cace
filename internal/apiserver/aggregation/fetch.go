package aggregation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// fetchTimeout bounds the time in which another server sends a document.
	fetchTimeout = 10 * time.Second
	// maxDocument is the largest document that this server reads from another one.
	maxDocument = 16 << 20
)

// document is the answer of another server to a request of this one.
type document struct {
	status int
	header http.Header
	body   []byte
}

// fetch reads a document of the other server, as the user of the context. It sends the given
// headers, such as Accept.
func (p *proxy) fetch(ctx context.Context, path string, header http.Header) (document, error) {
	if err := p.available(); err != nil {
		return document{}, err
	}
	location, err := p.locate(&url.URL{Path: path})
	if err != nil {
		return document{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location.String(), nil)
	if err != nil {
		return document{}, err
	}
	req.Header = header.Clone()
	client, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return document{}, fmt.Errorf("get %s: no user", path)
	}
	setUser(req, client)
	// Unlike an http.Client, RoundTrip does not follow redirects, which could lead to any host.
	response, err := p.transport.RoundTrip(req)
	if err != nil {
		return document{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err != nil {
		return document{}, fmt.Errorf("get %s: %w", path, err)
	}
	if len(body) > maxDocument {
		return document{}, fmt.Errorf("get %s: the document has more than %d bytes", path, maxDocument)
	}
	return document{status: response.StatusCode, header: response.Header, body: body}, nil
}

// fetcher is the handler that the library's discovery controller calls. Unlike the handler of
// proxy, it limits the size and the duration of the answer.
type fetcher struct{ *proxy }

// ServeHTTP implements http.Handler.
func (f fetcher) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	answer, err := f.fetch(req.Context(), req.URL.Path, req.Header)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	for _, key := range []string{"Content-Type", "Etag"} {
		if value := answer.header.Get(key); value != "" {
			w.Header().Set(key, value)
		}
	}
	w.WriteHeader(answer.status)
	// The writer is a buffer in memory.
	_, _ = w.Write(answer.body)
}

// asReader returns a context with the user that reads OpenAPI documents, as in Kubernetes.
func asReader(ctx context.Context) context.Context {
	return genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: "system:aggregator", Groups: []string{user.AllAuthenticated}})
}

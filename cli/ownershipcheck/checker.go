package ownershipcheck

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	server "holdfast.dev/holdfast/apiserver/fieldownership"
	"holdfast.dev/holdfast/ownership"
)

// cacheBytes bounds the configurations that are kept decoded; a command writes few
// objects.
const cacheBytes = 1 << 20

// Checker judges the writes of the clients that it wraps.
type Checker struct {
	// Force forces edits. It is set before the first request.
	Force bool

	paths *genericapirequest.RequestInfoFactory
	types *Types
	cache *ownership.Cache

	mu sync.Mutex
	// judges says of the servers that were asked whether they judge writes.
	judges map[string]bool
	// deleted are objects that a command removed and may put back, by their path.
	deleted map[string]map[string]any
}

// New returns a Checker.
func New() *Checker {
	return &Checker{
		paths: &genericapirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
		types: NewTypes(), cache: ownership.NewCache(cacheBytes),
		judges: map[string]bool{}, deleted: map[string]map[string]any{},
	}
}

// Wrap stands around the transport of a client.
func (c *Checker) Wrap(config *rest.Config) {
	prefix := ""
	if host, err := url.Parse(config.Host); err == nil {
		prefix = strings.TrimSuffix(host.Path, "/")
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &transport{Checker: c, next: next, prefix: prefix}
	})
}

type transport struct {
	*Checker
	next http.RoundTripper
	// prefix is what the paths of a server behind a proxy begin with.
	prefix string
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return t.send(req)
	}
	info, err := t.info(req)
	if err != nil || !info.IsResourceRequest {
		return t.send(req)
	}
	if t.Force && isEdit(req) {
		req = req.Clone(req.Context())
		req.Header.Set(server.ForceHeader, "true")
	}
	if t.serverJudges(req) {
		return t.send(req)
	}
	if query := req.URL.Query(); isEdit(req) && query.Get("fieldManager") == ownership.ForceManager {
		// The word means what it says and is nobody's name.
		forced := req.Clone(req.Context())
		query.Set("fieldManager", ownership.EditManager)
		forced.URL.RawQuery = query.Encode()
		forced.Header.Set(server.ForceHeader, "true")
		req = forced
	}
	w := &write{transport: t, req: req, info: info}
	switch {
	case info.Verb == "delete" && info.Subresource == "":
		return w.remove()
	case info.Verb == "create" && info.Subresource == "":
		return w.create()
	case (info.Verb == "update" || info.Verb == "patch") && (info.Subresource == "" || info.Subresource == "scale"):
		return w.update()
	}
	return t.send(req)
}

// info says what a request is for.
func (t *transport) info(req *http.Request) (*genericapirequest.RequestInfo, error) {
	bare := &http.Request{Method: req.Method, URL: &url.URL{Path: strings.TrimPrefix(req.URL.Path, t.prefix), RawQuery: req.URL.RawQuery}}
	return t.paths.NewRequestInfo(bare)
}

// at is another path of the same server.
func (t *transport) at(req *http.Request, path string) string {
	return (&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: t.prefix + path}).String()
}

// send sends a request and learns whether the server judges writes.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// An answer without the header may have been refused before it got that far.
	if judges := resp.Header.Get(server.Header) != ""; judges || resp.StatusCode < http.StatusBadRequest {
		t.mu.Lock()
		t.judges[req.URL.Host] = judges
		t.mu.Unlock()
	}
	return resp, nil
}

// serverJudges asks the server, if it has not answered anything yet.
func (t *transport) serverJudges(req *http.Request) bool {
	t.mu.Lock()
	judges, known := t.judges[req.URL.Host]
	t.mu.Unlock()
	if known {
		return judges
	}
	ask, err := question(req, t.at(req, "/version"))
	if err != nil {
		return false
	}
	resp, err := t.send(ask)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.Header.Get(server.Header) != ""
}

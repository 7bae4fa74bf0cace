package ownershipcheck

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	server "holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/ownership"
)

// cacheBytes bounds the cache of decoded last-applied configurations. It is small because
// a command writes few objects.
const cacheBytes = 1 << 20

// Checker checks the writes of the clients that it wraps. It is safe for concurrent use.
type Checker struct {
	// Force lets edits change owned fields. It must be set before the first request.
	Force bool

	paths *genericapirequest.RequestInfoFactory
	types *Types
	cache *ownership.Cache

	mu sync.Mutex
	// checks tells, by host, whether a server checks ownership itself. A host that has
	// not answered yet is absent.
	checks map[string]bool
	// deleted holds objects that the command deleted and may create again, by path.
	deleted map[string]deleted
}

// New returns a Checker.
func New() *Checker {
	return &Checker{
		paths: &genericapirequest.RequestInfoFactory{
			APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
		},
		types: NewTypes(), cache: ownership.NewCache(cacheBytes),
		checks: map[string]bool{}, deleted: map[string]deleted{},
	}
}

// Wrap makes the clients of a config send their requests through the Checker.
func (c *Checker) Wrap(config *rest.Config) {
	prefix := ""
	if host, err := url.Parse(config.Host); err == nil {
		prefix = strings.TrimSuffix(host.Path, "/")
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &transport{Checker: c, next: next, prefix: prefix}
	})
}

// transport is the Checker in front of the transport of one client.
type transport struct {
	*Checker
	next http.RoundTripper
	// prefix is the first part of all paths, if the server is behind a proxy.
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
	w := &write{transport: t, req: req, info: info}
	switch {
	case info.Verb == "delete" && info.Subresource == "":
		return w.remove()
	case info.Verb == "create" && info.Subresource == "":
		return w.create()
	}
	if t.serverChecks(req) {
		return t.send(req)
	}
	if query := req.URL.Query(); isEdit(req) && query.Get("fieldManager") == ownership.ForceManager {
		// The field manager "force" stands for a forced edit. It must not be stored as the
		// name of a manager.
		forced := req.Clone(req.Context())
		query.Set("fieldManager", ownership.EditManager)
		forced.URL.RawQuery = query.Encode()
		forced.Header.Set(server.ForceHeader, "true")
		req = forced
	}
	if (info.Verb == "update" || info.Verb == "patch") && ownership.IsWritable(info.Subresource) {
		w.req = req
		return w.update()
	}
	return t.send(req)
}

// info returns verb, resource and name of a request.
func (t *transport) info(req *http.Request) (*genericapirequest.RequestInfo, error) {
	target := &url.URL{Path: strings.TrimPrefix(req.URL.Path, t.prefix), RawQuery: req.URL.RawQuery}
	return t.paths.NewRequestInfo(&http.Request{Method: req.Method, URL: target})
}

// serverURL returns the URL of another path on the server of a request.
func (t *transport) serverURL(req *http.Request, path string) string {
	return (&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: t.prefix + path}).String()
}

// send sends a request. From the response it learns whether the server checks ownership
// itself.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// An error response without the header proves nothing: the server may have refused the
	// request before the part that sets the header.
	if checks := resp.Header.Get(server.Header) != ""; checks || resp.StatusCode < http.StatusBadRequest {
		t.mu.Lock()
		t.checks[req.URL.Host] = checks
		t.mu.Unlock()
	}
	return resp, nil
}

// serverChecks reports whether the server checks ownership itself. If no response of the
// server is known yet, it requests /version.
func (t *transport) serverChecks(req *http.Request) bool {
	t.mu.Lock()
	checks, known := t.checks[req.URL.Host]
	t.mu.Unlock()
	if known {
		return checks
	}
	ask, err := newGet(req, t.serverURL(req, "/version"))
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

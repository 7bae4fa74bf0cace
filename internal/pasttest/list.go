package pasttest

import (
	"net/http"
)

// list shows a list. A list that may be old, after a restart, is one of the past.
func (t transport) list(req *http.Request, object request) (*http.Response, error) {
	p := t.life.proxy
	if revision := t.oldRevision(req, object); revision != "" {
		past := req.Clone(req.Context())
		query := past.URL.Query()
		query.Set("resourceVersion", revision)
		query.Set("resourceVersionMatch", "Exact")
		query.Del("limit")
		past.URL.RawQuery = query.Encode()
		response, err := t.next.RoundTrip(past)
		if err == nil && response.StatusCode == http.StatusOK {
			p.trace.addRead(object.resource, "old list", "%s at %s", object.resource, revision)
			return response, nil
		}
		if err == nil {
			_ = response.Body.Close()
		}
	}
	response, err := t.next.RoundTrip(req)
	if err == nil {
		p.trace.addRead(object.resource, "list", "%s from %q -> %d", p.name(req.URL.Path), req.URL.Query().Get("resourceVersion"), response.StatusCode)
	}
	return response, err
}

// oldRevision returns the revision of the past that a list shows, or nothing.
func (t transport) oldRevision(req *http.Request, object request) string {
	p := t.life.proxy
	if req.URL.Query().Get("resourceVersion") != "0" || t.life.number == 1 || !p.faults.any(old) {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists[object.resource]++
	key := []any{"old", t.life.number, object.resource, p.lists[object.resource]}
	if len(p.revisions) == 0 || !p.faults.chance(70, key...) {
		return ""
	}
	return p.revisions[p.faults.number(uint64(len(p.revisions)), append(key, "revision")...)]
}

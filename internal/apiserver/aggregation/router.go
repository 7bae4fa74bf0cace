package aggregation

import (
	"maps"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Router sends requests for the group versions of other servers to their proxies, and answers
// /apis. The zero value does neither. It is safe for concurrent use.
type Router struct{ routes atomic.Pointer[routes] }

// routes are the paths that other servers answer, or that show groups of all servers. They are
// not changed once a Router has them.
type routes struct {
	versions map[schema.GroupVersion]*proxy
	// groups has the names of the groups in versions.
	groups map[string]bool
	// list answers /apis, and group /apis/<group> for the groups.
	list, group http.Handler
}

// Wrap returns a handler that answers the requests for other servers and passes on the rest.
// The requests are authenticated and authorized.
func (r *Router) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if routes := r.routes.Load(); routes != nil {
			if handler := routes.find(req.URL.Path); handler != nil {
				handler.ServeHTTP(w, req)
				return
			}
		}
		next.ServeHTTP(w, req)
	})
}

// IsRemote reports whether another server answers the requests for a group version.
func (r *Router) IsRemote(gv schema.GroupVersion) bool {
	routes := r.routes.Load()
	return routes != nil && routes.versions[gv] != nil
}

// find returns the handler of a path, or nil if this server itself answers it.
func (t *routes) find(path string) http.Handler {
	rest, ok := strings.CutPrefix(path, "/apis")
	if !ok {
		return nil
	}
	if rest == "" || rest == "/" {
		return t.list
	}
	if rest[0] != '/' {
		return nil
	}
	group, rest, _ := strings.Cut(rest[1:], "/")
	if !t.groups[group] {
		return nil
	}
	if rest == "" {
		return t.group
	}
	version, _, _ := strings.Cut(rest, "/")
	if proxy := t.versions[schema.GroupVersion{Group: group, Version: version}]; proxy != nil {
		return proxy
	}
	return nil
}

// store replaces the proxies.
func (r *Router) store(versions map[schema.GroupVersion]*proxy, list, group http.Handler) {
	t := &routes{versions: maps.Clone(versions), groups: map[string]bool{}, list: list, group: group}
	for gv := range versions {
		t.groups[gv.Group] = true
	}
	r.routes.Store(t)
}

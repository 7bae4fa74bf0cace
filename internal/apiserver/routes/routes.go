// Package routes finds the handler of a request for a built-in kind.
//
//	router := routes.New()
//	container.Router(router)
//	err := router.Replace(container, http.MethodPatch, path, wrap) // another function for one route
//
// The router of go-restful compares the path of each request with the paths of all routes of its API group; the group v1 has hundreds of
// them. Router remembers which route it found for a form of requests, and finds the same route as the router of go-restful.
package routes

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/emicklei/go-restful/v3"
)

// maxForms is the number of forms that a Router remembers. Clients may send any media types, so the number of forms has no other bound.
const maxForms = 4096

// maxForm is the length of the longest form that a Router remembers. A path and a header may have a megabyte.
const maxForm = 1024

// Router selects routes. It is safe for concurrent use. A service must have all its routes when it is added to the container.
type Router struct {
	restful.CurlyRouter
	// known is what the Router remembers about the services of the container, which may change.
	known atomic.Pointer[known]
	// replacements are the functions of routes with another function, by method and path.
	replacements map[string]restful.RouteFunction
}

// New returns a Router that remembers nothing yet.
func New() *Router { return &Router{replacements: map[string]restful.RouteFunction{}} }

// Replace gives a route another function. wrap gets the function that the route has. Replace returns an error if the container has no such
// route. It must not be called after the first request.
func (r *Router) Replace(container *restful.Container, method, path string, wrap func(restful.RouteFunction) restful.RouteFunction) error {
	for _, service := range container.RegisteredWebServices() {
		if !strings.HasPrefix(path, service.RootPath()+"/") {
			continue
		}
		for _, route := range service.Routes() {
			if route.Method == method && route.Path == path {
				r.replacements[method+" "+path] = wrap(route.Function)
				return nil
			}
		}
	}
	return fmt.Errorf("no route for %s %s", method, path)
}

// replaced returns a route with the function that Replace gave it.
func (r *Router) replaced(route *restful.Route) *restful.Route {
	function, ok := r.replacements[route.Method+" "+route.Path]
	if !ok {
		return route
	}
	out := *route
	out.Function = function
	return &out
}

// known has the routes by the form of a request.
type known struct {
	services []*restful.WebService
	// words are the parts of paths that a route requires. Any other part is the value of a parameter.
	words map[string]bool

	mu     sync.RWMutex
	routes map[string]selected
}

type selected struct {
	service *restful.WebService
	route   *restful.Route
}

// SelectRoute implements restful.RouteSelector.
func (r *Router) SelectRoute(services []*restful.WebService, req *http.Request) (*restful.WebService, *restful.Route, error) {
	k := r.known.Load()
	if k == nil || !slices.Equal(k.services, services) {
		k = newKnown(services)
		r.known.Store(k)
	}
	var buffer [256]byte
	form, ok := k.form(buffer[:0], req)
	if !ok {
		return r.search(services, req)
	}
	k.mu.RLock()
	found, ok := k.routes[string(form)]
	k.mu.RUnlock()
	if ok {
		return found.service, found.route, nil
	}
	service, route, err := r.search(services, req)
	if err == nil {
		k.remember(string(form), selected{service, route})
	}
	return service, route, err
}

// search selects a route without what the Router remembers.
func (r *Router) search(services []*restful.WebService, req *http.Request) (*restful.WebService, *restful.Route, error) {
	service, route, err := r.CurlyRouter.SelectRoute(services, req)
	if err == nil {
		route = r.replaced(route)
	}
	return service, route, err
}

// newKnown collects the words of all routes. It knows none if a route depends on more than words, media types and the method.
func newKnown(services []*restful.WebService) *known {
	k := &known{services: slices.Clone(services), words: map[string]bool{}, routes: map[string]selected{}}
	for _, service := range services {
		paths := []string{service.RootPath()}
		for _, route := range service.Routes() {
			if len(route.If) > 0 {
				k.words = nil
				return k
			}
			paths = append(paths, route.Path)
		}
		for part := range strings.SplitSeq(strings.Join(paths, "/"), "/") {
			// A colon begins a regular expression in a parameter, and a verb after a word.
			if strings.Contains(strings.TrimSuffix(part, ":*}"), ":") {
				k.words = nil
				return k
			}
			if !strings.HasPrefix(part, "{") {
				k.words[part] = true
			}
		}
	}
	return k
}

// form appends what the route of a request depends on: the method, the media types, and the path with its parameters left out. It returns
// false if the route cannot be remembered.
func (k *known) form(buffer []byte, req *http.Request) ([]byte, bool) {
	rest, ok := strings.CutPrefix(req.URL.Path, "/")
	contentType, accept := req.Header.Get(restful.HEADER_ContentType), req.Header.Get(restful.HEADER_Accept)
	if !ok || k.words == nil || len(req.Method)+len(rest)+len(contentType)+len(accept) > maxForm {
		return nil, false
	}
	buffer = append(buffer, req.Method...)
	for more := true; more; {
		var part string
		part, rest, more = strings.Cut(rest, "/")
		if part == "" {
			return nil, false
		}
		buffer = append(buffer, '/')
		if k.words[part] {
			buffer = append(buffer, part...)
		}
	}
	for _, types := range []string{contentType, accept} {
		buffer = append(buffer, '\n')
		buffer = append(buffer, types...)
	}
	return buffer, true
}

func (k *known) remember(form string, found selected) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.routes) >= maxForms {
		clear(k.routes)
	}
	k.routes[form] = found
}

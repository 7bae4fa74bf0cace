//go:build !plain

package applied

import "github.com/emicklei/go-restful/v3"

// Function returns the function of the route, which calls the function of the library for all requests that are not regular.
func (e *Endpoint) Function(library restful.RouteFunction) restful.RouteFunction {
	return e.quick(library)
}

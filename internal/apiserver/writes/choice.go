//go:build !plain

package writes

import "github.com/emicklei/go-restful/v3"

// Function returns what gives the route of a method its function. This calls the function of the library for all requests that are not regular.
func (e *Endpoint) Function(method string) func(library restful.RouteFunction) restful.RouteFunction {
	return func(library restful.RouteFunction) restful.RouteFunction { return e.quick(method, library) }
}

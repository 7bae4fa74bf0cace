//go:build plain

package writes

import "github.com/emicklei/go-restful/v3"

// Function returns the plain form, which is the function of the library.
func (*Endpoint) Function(string) func(library restful.RouteFunction) restful.RouteFunction {
	return func(library restful.RouteFunction) restful.RouteFunction { return library }
}

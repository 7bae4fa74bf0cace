//go:build plain

package applied

import "github.com/emicklei/go-restful/v3"

// Function returns the plain form, which is the function of the library.
func (*Endpoint) Function(library restful.RouteFunction) restful.RouteFunction { return library }

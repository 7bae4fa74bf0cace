// Package disclosure decides whether the response to a write may show values.
//
// Many refusals and warnings explain themselves with values: "changed from 80 to 81". Such a
// text shows the stored object. A client that may write an object but may not get it must
// not read the object that way. The rule is:
//
//   - A client that may get the written object, or the written subresource, reads the values.
//   - Every other client reads the path of the field and the name of the rule.
//
// A client without the right does not read new values either: after a patch, the new value of a
// field may contain stored values. A package calls Allowed before it writes a value into a message.
//
//	if disclosure.Allowed(ctx) { ... }
//	return disclosure.Errors(ctx, errs)
//
// The first call of Allowed in a request asks the authorizer, see package rights. Later calls in the same request
// return the same answer. A write without such a message does not ask. Everything here is safe for
// concurrent use.
package disclosure

import (
	"context"

	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/rights"
)

// Allowed reports whether the response to a request may show values of the stored object. It
// is false for a context that did not pass rights.Filter, and for requests that do not write to one stored object.
func Allowed(ctx context.Context) bool {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok || info.Verb == "delete" || info.Verb == "deletecollection" {
		return false
	}
	return rights.Allowed(ctx, "get", "") || info.Subresource != "" && rights.Allowed(ctx, "get", info.Subresource)
}

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
// The first call of Allowed in a request asks the authorizer. Later calls in the same request
// return the same answer. A write without such a message does not ask. Everything here is safe for
// concurrent use.
package disclosure

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Filter wraps the handlers of resources, so that Allowed knows the client and the object of
// a request. It runs after authentication and impersonation.
func Filter(next http.Handler, rights authorizer.UnconditionalAuthorizer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		if ok && info.IsResourceRequest && isWrite(info) {
			req = req.WithContext(context.WithValue(req.Context(), key{}, &decision{rights: rights}))
		}
		next.ServeHTTP(w, req)
	})
}

// isWrite reports whether a request writes to an object that is stored already. A create of
// a subresource, such as the binding of a pod, writes to the object in the URL.
func isWrite(info *genericapirequest.RequestInfo) bool {
	return info.Verb == "update" || info.Verb == "patch" || info.Verb == "create" && info.Subresource != ""
}

// Allowed reports whether the response to a request may show values of the stored object. It
// is false for a context that did not pass Filter.
func Allowed(ctx context.Context) bool {
	d, ok := ctx.Value(key{}).(*decision)
	if !ok {
		return false
	}
	d.once.Do(func() { d.allowed = d.ask(ctx) })
	return d.allowed
}

type key struct{}

// decision is the answer of the authorizer for one request.
type decision struct {
	rights  authorizer.UnconditionalAuthorizer
	once    sync.Once
	allowed bool
}

// ask asks for the right to get the object, then for the right to get the subresource of the
// request. An error of the authorizer counts as no.
func (d *decision) ask(ctx context.Context) bool {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok {
		return false
	}
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return false
	}
	get := authorizer.AttributesRecord{
		User: user, Verb: "get", Namespace: info.Namespace, Name: info.Name,
		APIGroup: info.APIGroup, APIVersion: info.APIVersion, Resource: info.Resource, ResourceRequest: true,
	}
	if d.permits(ctx, get) {
		return true
	}
	get.Subresource = info.Subresource
	return get.Subresource != "" && d.permits(ctx, get)
}

func (d *decision) permits(ctx context.Context, get authorizer.AttributesRecord) bool {
	answer, _, err := d.rights.Authorize(ctx, get)
	return err == nil && answer == authorizer.DecisionAllow
}

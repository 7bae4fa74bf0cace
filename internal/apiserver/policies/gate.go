package policies

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/policy"
)

// Gate wraps the handlers of resources. An update or a deletion of a client waits until the first table is there, which is a moment after the
// server listens. Otherwise a write at this moment could break a rule. If the policies cannot be read, the answer is 503.
func (r *Rules) Gate(next http.Handler, codecs runtime.NegotiatedSerializer) http.Handler {
	if r == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.current.Load() == nil {
			if info, ok := genericapirequest.RequestInfoFrom(req.Context()); ok && r.waits(req.Context(), info) {
				if _, err := r.await(req.Context(), func(*table) bool { return true }); err != nil {
					responsewriters.ErrorNegotiated(err, codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, req)
					return
				}
			}
		}
		next.ServeHTTP(w, req)
	})
}

// waits reports whether a request could break a rule. The server's own writes, and those that no policy may guard, do not wait: the
// start needs them.
func (r *Rules) waits(ctx context.Context, info *genericapirequest.RequestInfo) bool {
	switch info.Verb {
	case "update", "patch", "delete", "deletecollection":
	case "create":
		if info.Subresource == "" {
			return false
		}
	default:
		return false
	}
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	excluded := policy.Excluded(resource)
	if len(r.files.latest().files) > 0 {
		excluded = neverInFiles(resource)
	}
	return info.IsResourceRequest && !rights.IsOwn(ctx) && !excluded
}

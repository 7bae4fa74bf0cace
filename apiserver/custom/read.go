package custom

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"
)

// readScope returns the request scope for a GET, LIST or WATCH, and the request for its handler.
// The encoder of the scope uses the cached texts.
//
// The audit log encodes an answer with the same encoder, and perhaps without managed fields. If
// it holds the answers to such requests, the encoder does not use the cached texts.
func (v *version) readScope(w http.ResponseWriter, req *http.Request, verb string) (*handlers.RequestScope, *http.Request) {
	audited := audit.AuditContextFrom(req.Context())
	if audited.Enabled() && !audited.GetEventLevel().Less(auditinternal.LevelRequestResponse) {
		return v.scopes.main, req
	}
	serializer, ok := v.scopes.read.Serializer.(requestSerializer)
	if !ok {
		return v.scopes.read, req
	}
	scope := *v.scopes.read
	switch verb {
	case "watch":
		scope.Serializer = &eventSerializer{requestSerializer: serializer}
	case "list":
		if responsewriters.ContentEncodingSupported(req, features.APIResponseCompression) == "gzip" {
			serializer.header = w.Header()
		}
		if serializer.partial = v.partialOf(req); serializer.partial != nil {
			req = acceptingJSON(req)
		}
		scope.Serializer = serializer
	default:
		return v.scopes.read, req
	}
	return &scope, req
}

// acceptingJSON returns a copy of a request that accepts JSON. The library encodes tables and lists
// of metadata by itself if the request accepts these.
func acceptingJSON(req *http.Request) *http.Request {
	out := *req
	out.Header = req.Header.Clone()
	out.Header.Set("Accept", runtime.ContentTypeJSON)
	return &out
}

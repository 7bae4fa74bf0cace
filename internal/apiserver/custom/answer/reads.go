package answer

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// quickReads makes the scopes whose encoders use the cached texts.
type quickReads struct {
	endpoint *handlers.RequestScope
	// get is the scope of all GET requests. Other requests have scopes of their own.
	get        *handlers.RequestScope
	serializer readSerializer
}

// For implements Reads.
//
// The audit log encodes an answer with the same encoder, and perhaps without managed fields. If it holds the answers to such requests,
// the encoder does not use the cached texts.
func (r *quickReads) For(w http.ResponseWriter, req *http.Request, verb string) (*handlers.RequestScope, *http.Request) {
	audited := audit.AuditContextFrom(req.Context())
	if audited.Enabled() && !audited.GetEventLevel().Less(auditinternal.LevelRequestResponse) {
		return r.endpoint, req
	}
	switch verb {
	case "get":
		return r.get, req
	case "list":
		return r.list(w, req)
	case "watch":
		return r.with(&eventSerializer{readSerializer: r.serializer}), req
	}
	return r.endpoint, req
}

func (r *quickReads) list(w http.ResponseWriter, req *http.Request) (*handlers.RequestScope, *http.Request) {
	serializer := r.serializer
	if responsewriters.ContentEncodingSupported(req, features.APIResponseCompression) == "gzip" {
		serializer.header = w.Header()
	}
	if serializer.partial = r.partialOf(req); serializer.partial != nil {
		req = acceptingJSON(req)
	}
	return r.with(serializer), req
}

// with returns a copy of the scope of the endpoint, with another serializer.
func (r *quickReads) with(serializer runtime.NegotiatedSerializer) *handlers.RequestScope {
	scope := *r.endpoint
	scope.Serializer = serializer
	return &scope
}

// acceptingJSON returns a copy of a request that accepts JSON. The library encodes tables and lists
// of metadata by itself if the request accepts these.
func acceptingJSON(req *http.Request) *http.Request {
	out := *req
	out.Header = req.Header.Clone()
	out.Header.Set("Accept", runtime.ContentTypeJSON)
	return &out
}

// partialOf returns the form that a LIST asks for. It is nil if the library encodes the answer,
// or if the answer holds the whole objects.
func (r *quickReads) partialOf(req *http.Request) *partial {
	accepted, info, err := negotiation.NegotiateOutputMediaType(req, r.endpoint.Serializer, r.endpoint)
	if err != nil || accepted.Convert == nil {
		return nil
	}
	if _, ok := info.Serializer.(formatSerializer); !ok { // YAML, protobuf, or JSON with indentation
		return nil
	}
	form := &partial{version: accepted.Convert.GroupVersion()}
	switch include := req.URL.Query().Get("includeObject"); {
	case accepted.Convert.Kind == "PartialObjectMetadataList":
		return form
	case accepted.Convert.Kind != "Table" || include != "" && include != string(metav1.IncludeMetadata):
		return nil
	}
	form.table = func(list *object.List) (*metav1.Table, error) {
		return r.endpoint.TableConvertor.ConvertToTable(req.Context(), list, &metav1.TableOptions{})
	}
	return form
}

func (q *quick) reads(endpoint *handlers.RequestScope, serializer Serializer) Reads {
	reads := &quickReads{endpoint: endpoint, serializer: readSerializer{Serializer: serializer, quick: q}}
	reads.get = reads.with(reads.serializer)
	return reads
}

// readSerializer encodes the answers to GET, LIST and WATCH with the cached texts.
type readSerializer struct {
	Serializer
	quick *quick
	// partial and header are those of the answerEncoder, for a LIST.
	partial *partial
	header  http.Header
}

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (s readSerializer) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	library := s.library(encoder, gv)
	if _, ok := encoder.(formatSerializer); !ok {
		return library
	}
	return answerEncoder{
		quick: s.quick, library: library, version: s.version, texts: s.quick.texts, partial: s.partial, header: s.header,
	}
}

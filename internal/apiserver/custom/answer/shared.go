package answer

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// Shared is what the serializers of all versions of a server have in common.
type Shared struct {
	format text.Format
	scheme *runtime.Scheme
	form   form
}

// NewShared returns what the serializers of a server have in common. The scheme has the types of answers that are not custom
// resources.
func NewShared(format text.Format, scheme *runtime.Scheme) *Shared {
	return &Shared{format: format, scheme: scheme, form: newForm(format)}
}

// Drop forgets the texts of a version.
func (s *Shared) Drop(v *kind.Version) { s.form.drop(v) }

// Caches returns the caches of the server, for metrics. The plain form has none.
func (s *Shared) Caches() []bounded.Measured { return s.form.caches() }

// form makes the encoders of answers. The build tag plain chooses one of its two implementations, quick and plain.
type form interface {
	// encoder returns the encoder of an answer as JSON without indentation. The answer may differ from the stored object. library
	// is the encoder of the library for this answer.
	encoder(v *kind.Version, library runtime.Encoder) runtime.Encoder
	// reads returns the scopes for the reads of an endpoint. The endpoint has the serializer.
	reads(endpoint *handlers.RequestScope, serializer Serializer) Reads
	drop(v *kind.Version)
	caches() []bounded.Measured
}

// Reads has the request scopes for the reads of one endpoint.
type Reads interface {
	// For returns the scope for a request with the verb get, list or watch, and the request for its handler. w is the writer of the
	// answer. A handler may use the scope for this request only. For other verbs, For returns the scope of the endpoint.
	For(w http.ResponseWriter, req *http.Request, verb string) (*handlers.RequestScope, *http.Request)
}

// plain is the plain form: the encoders of the library, and no cache.
type plain struct{}

func (plain) encoder(_ *kind.Version, library runtime.Encoder) runtime.Encoder { return library }
func (plain) reads(endpoint *handlers.RequestScope, _ Serializer) Reads        { return plainReads{endpoint} }
func (plain) drop(*kind.Version)                                               {}
func (plain) caches() []bounded.Measured                                       { return nil }

// plainReads uses the scope of an endpoint for reads, as it is.
type plainReads struct{ endpoint *handlers.RequestScope }

// For implements Reads.
func (r plainReads) For(_ http.ResponseWriter, req *http.Request, _ string) (*handlers.RequestScope, *http.Request) {
	return r.endpoint, req
}

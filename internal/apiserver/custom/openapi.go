package custom

import (
	"cmp"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/documents"
)

// Publish sets the publisher of the OpenAPI documents. The v2 document also has the content of static, the document of the built-in
// kinds. There is one v3 document for each version of a group. Publish must be called before Start.
func (s *Server) Publish(publisher documents.Publisher, static func() (*spec.Swagger, error)) {
	s.openapi = documents.New(publisher, static, cmp.Or(s.config.Revision, uuid.NewString()))
}

// Schemas returns the group versions that have OpenAPI documents, each with a number
// that changes with the document. It builds no document.
func (s *Server) Schemas() map[schema.GroupVersion]uint64 { return s.openapi.Published() }

// MergeOpenAPI merges v2 documents of other servers into the v2 document, in place of those of the last call.
func (s *Server) MergeOpenAPI(foreign []*spec.Swagger) { s.openapi.SetForeign(foreign) }

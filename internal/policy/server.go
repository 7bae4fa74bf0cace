package policy

import (
	"context"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/schema"
)

// Server has what the compiler reads of an API server.
type Server interface {
	// Definition returns a definition, nil if there is none.
	Definition(ctx context.Context, name string) (*definition.CustomResourceDefinition, error)
	// Published returns a resource without a definition, nil if there is none.
	Published(ctx context.Context, name runtimeschema.GroupResource) (*Published, error)
}

// Published is a resource without a definition, a built-in or aggregated one, in the version in which the rules read its objects.
type Published struct {
	Kind      runtimeschema.GroupVersionKind
	Endpoints Endpoints
	// Schema returns a new copy of the schema, without markers.
	Schema func() (*schema.Schema, error)
}

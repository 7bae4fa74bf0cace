package policies

import (
	"context"
	"encoding/json"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/openapi"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/schema"
)

// sources implements policy.Server in the process.
type sources struct {
	// definition returns a definition that is served, nil if there is none.
	definition func(name runtimeschema.GroupResource) *definition.CustomResourceDefinition

	mu sync.Mutex
	// expanded are the models of the built-in kinds with rules. The models of all kinds are too large to stay in memory.
	expanded map[runtimeschema.GroupResource]any
}

// Definition implements policy.Server.
func (s *sources) Definition(_ context.Context, name string) (*definition.CustomResourceDefinition, error) {
	return s.definition(runtimeschema.ParseGroupResource(name)), nil
}

// Published implements policy.Server for built-in kinds. An aggregated API server answers the writes of its resources, so the server
// cannot judge them.
func (s *sources) Published(_ context.Context, name runtimeschema.GroupResource) (*policy.Published, error) {
	for _, kind := range native.Kinds() {
		if kind.GroupResource() != name {
			continue
		}
		published := &policy.Published{
			Kind: kind.GroupVersionKind(), Endpoints: policy.Endpoints{HasStatus: kind.Status},
			Schema: func() (*schema.Schema, error) { return s.schema(kind) },
		}
		if kind.Scale != nil {
			published.Endpoints.Replicas = []string{"spec", "replicas"}
		}
		return published, nil
	}
	return nil, nil
}

// schema returns the schema of a built-in kind.
func (s *sources) schema(kind native.Kind) (*schema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	expanded, known := s.expanded[kind.GroupResource()]
	if !known {
		all := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/" + name) })
		expanded = policy.Expand(util.GetCanonicalTypeName(kind.Object), func(name string) map[string]any { return decoded(all[name]) })
		s.expanded[kind.GroupResource()] = expanded
	}
	out, _, err := schema.Decode(expanded)
	return out, err
}

// decoded returns a model as JSON decoding gives it, nil if there is none.
func decoded(model common.OpenAPIDefinition) map[string]any {
	text, err := json.Marshal(model.Schema)
	if err != nil {
		return nil
	}
	var out map[string]any
	if json.Unmarshal(text, &out) != nil || len(out) == 0 {
		return nil
	}
	return out
}

package policies

import (
	"context"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/schema"
)

// sources implements policy.Server in the process.
type sources struct {
	// models returns the OpenAPI models of the built-in kinds and of definitions.
	models common.GetOpenAPIDefinitions
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

// unjudged returns the writes that the server makes without asking the rules, because they belong to a deletion.
func unjudged() map[runtimeschema.GroupResource][]policy.Unjudged {
	return map[runtimeschema.GroupResource][]policy.Unjudged{
		namespaces: {{Path: []string{"status", "phase"}, Write: "a deletion sets status.phase"}},
		{Group: "policy", Resource: "poddisruptionbudgets"}: {
			{Path: []string{"status", "disruptionsAllowed"}, Write: "an eviction sets status.disruptionsAllowed"},
			{Path: []string{"status", "disruptedPods"}, Write: "an eviction sets status.disruptedPods"},
		},
	}
}

// Published implements policy.Server for built-in kinds and CustomResourceDefinitions. An aggregated API server answers the writes of its resources, so the server
// cannot judge them.
func (s *sources) Published(_ context.Context, name runtimeschema.GroupResource) (*policy.Published, error) {
	if name == definition.Resource {
		return &policy.Published{
			Kind: definition.Kind, Endpoints: policy.Endpoints{HasStatus: true},
			Schema: func() (*schema.Schema, error) { return s.schema(name, &definition.CustomResourceDefinition{}) },
		}, nil
	}
	for _, kind := range native.Kinds() {
		if kind.GroupResource() != name {
			continue
		}
		published := &policy.Published{
			Kind: kind.GroupVersionKind(), Endpoints: policy.Endpoints{HasStatus: kind.Status, Unjudged: unjudged()[name]},
			Schema: func() (*schema.Schema, error) { return s.schema(name, kind.Object) },
		}
		if kind.Scale != nil {
			published.Endpoints.Replicas = []string{"spec", "replicas"}
		}
		return published, nil
	}
	return nil, nil
}

// schema returns the schema of a resource with objects of a Go type.
func (s *sources) schema(name runtimeschema.GroupResource, of runtime.Object) (*schema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	expanded, known := s.expanded[name]
	if !known {
		all := s.models(func(name string) spec.Ref { return spec.MustCreateRef("#/" + name) })
		expanded = policy.Expand(util.GetCanonicalTypeName(of), func(name string) map[string]any { return decoded(all[name]) })
		s.expanded[name] = expanded
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

package ownershipcheck

import (
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	server "holdfast.dev/holdfast/apiserver/fieldownership"
	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/native/views"
	"holdfast.dev/holdfast/ownership"
)

// Types knows how objects are divided into fields: those of built-in kinds by
// itself, those of others from the schema that their server publishes. It is safe
// for concurrent use.
type Types struct {
	native *views.Types

	mu sync.Mutex
	// custom are those of custom resources, by server and kind.
	custom map[string]*ownership.Type
}

// NewTypes returns what is known without asking a server.
func NewTypes() *Types { return &Types{native: views.New(), custom: map[string]*ownership.Type{}} }

// Schemas reads what a server publishes.
type Schemas struct {
	// Server tells servers apart.
	Server string
	// Get reads a path.
	Get func(path string) ([]byte, error)
}

// Of is the type of a kind.
func (t *Types) Of(gvk schema.GroupVersionKind, from Schemas) *ownership.Type {
	if known := t.native.Of(gvk.GroupKind()); known != nil {
		return known
	}
	key := from.Server + " " + gvk.String()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.custom[key] == nil {
		t.custom[key] = &ownership.Type{Applied: ownership.Loose(), Managed: managedView(gvk, from)}
		if gvk == definition.Kind {
			t.custom[key].Canonical = server.CanonicalDefinition
		}
	}
	return t.custom[key]
}

// isNative says whether a kind is built in.
func (t *Types) isNative(gvk schema.GroupVersionKind) bool {
	return t.native.Of(gvk.GroupKind()) != nil
}

// managedView is how server-side apply divides the objects of a kind. Without a
// schema every list is one value.
func managedView(gvk schema.GroupVersionKind, from Schemas) *ownership.View {
	data, err := from.Get("/openapi/v3/apis/" + gvk.GroupVersion().String())
	if err != nil {
		return ownership.Loose()
	}
	var document spec3.OpenAPI
	if json.Unmarshal(data, &document) != nil || document.Components == nil {
		return ownership.Loose()
	}
	for name, model := range document.Components.Schemas {
		if !isModelOf(model, gvk) {
			continue
		}
		if view, err := ownership.NewView(document.Components.Schemas, name, ownership.ServerSide); err == nil {
			return view
		}
	}
	return ownership.Loose()
}

func isModelOf(model *spec.Schema, gvk schema.GroupVersionKind) bool {
	if model == nil {
		return false
	}
	kinds, _ := model.Extensions["x-kubernetes-group-version-kind"].([]any)
	for _, kind := range kinds {
		if k, ok := kind.(map[string]any); ok && k["group"] == gvk.Group && k["version"] == gvk.Version && k["kind"] == gvk.Kind {
			return true
		}
	}
	return false
}

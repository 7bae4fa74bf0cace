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

// Types returns the ownership.Type of a kind, which tells how its objects are divided into
// fields. The types of built-in kinds are compiled in; others are derived from the OpenAPI
// schema that a server publishes. It is safe for concurrent use.
type Types struct {
	native *views.Types

	mu sync.Mutex
	// custom caches the types of other kinds, by server and kind.
	custom map[string]*ownership.Type
}

// NewTypes returns Types with an empty cache.
func NewTypes() *Types { return &Types{native: views.New(), custom: map[string]*ownership.Type{}} }

// Schemas gives access to the schemas that a server publishes.
type Schemas struct {
	// Server identifies the server in the cache.
	Server string
	// Get reads a path of the server.
	Get func(path string) ([]byte, error)
}

// Of returns the type of a kind.
func (t *Types) Of(gvk schema.GroupVersionKind, from Schemas) *ownership.Type {
	if known := t.native.Of(gvk.GroupKind()); known != nil {
		return known
	}
	key := from.Server + " " + gvk.String()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.custom[key] == nil {
		document, err := from.Get("/openapi/v3/apis/" + gvk.GroupVersion().String())
		if err != nil {
			document = nil
		}
		t.custom[key] = &ownership.Type{
			Applied: ownership.Untyped(), Managed: managedView(gvk, document), Default: defaultsOf(gvk, document),
		}
		if gvk == definition.Kind {
			t.custom[key].Canonical, t.custom[key].Default = server.CanonicalDefinition, server.DefaultDefinition
		}
	}
	return t.custom[key]
}

// isNative reports whether a kind is built in.
func (t *Types) isNative(gvk schema.GroupVersionKind) bool {
	return t.native.Of(gvk.GroupKind()) != nil
}

// managedView returns how server-side apply divides the objects of a kind into fields, by
// the OpenAPI document of their group and version. Without a schema every list is one
// field.
func managedView(gvk schema.GroupVersionKind, data []byte) *ownership.View {
	var document spec3.OpenAPI
	if json.Unmarshal(data, &document) != nil || document.Components == nil {
		return ownership.Untyped()
	}
	for name, model := range document.Components.Schemas {
		if !isModelOf(model, gvk) {
			continue
		}
		if view, err := ownership.NewView(document.Components.Schemas, name, ownership.ServerSide); err == nil {
			return view
		}
	}
	return ownership.Untyped()
}

// isModelOf reports whether a schema is the one of a kind.
func isModelOf(model *spec.Schema, gvk schema.GroupVersionKind) bool {
	return model != nil && names(model.Extensions["x-kubernetes-group-version-kind"], gvk)
}

// names reports whether the extension x-kubernetes-group-version-kind names a kind.
func names(extension any, gvk schema.GroupVersionKind) bool {
	kinds, _ := extension.([]any)
	for _, kind := range kinds {
		k, ok := kind.(map[string]any)
		if ok && k["group"] == gvk.Group && k["version"] == gvk.Version && k["kind"] == gvk.Kind {
			return true
		}
	}
	return false
}

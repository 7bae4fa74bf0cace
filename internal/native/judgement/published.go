package judgement

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/ownership"
)

// Published returns the type of a kind that is not built in. The document is the OpenAPI v3 document of its
// group and version, from PublishedPath. Without one, every list is one field, and no defaults are known.
func Published(gvk schema.GroupVersionKind, document []byte) *ownership.Type {
	if gvk == definition.Kind {
		t := DefinitionType()
		t.Managed = managedView(gvk, document)
		return t
	}
	return &ownership.Type{
		Applied: ownership.Untyped(), Managed: managedView(gvk, document), Default: defaultsOf(gvk, document),
	}
}

// PublishedPath returns the path at which an API server publishes the OpenAPI document of a kind.
func PublishedPath(gvk schema.GroupVersionKind) string {
	if gvk.Group == "" {
		return "/openapi/v3/api/" + gvk.Version
	}
	return "/openapi/v3/apis/" + gvk.GroupVersion().String()
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

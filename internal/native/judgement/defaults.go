package judgement

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kind "k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// defaultsOf returns the function that sets the defaults of a custom resource in its objects.
// The defaults are in the schema that the server publishes. It returns nil if there is no
// schema, or if the schema refers to others: then the kind is no custom resource, and its
// server may set defaults that the schema does not have.
func defaultsOf(gvk kind.GroupVersionKind, document []byte) func(map[string]any) (map[string]any, error) {
	model := modelOf(gvk, document)
	if model == nil {
		return nil
	}
	// The metadata is a reference in the schema of every kind, and has no defaults.
	unstructured.RemoveNestedField(model, "properties", "metadata")
	decoded, _, err := schema.Decode(model)
	if err != nil || refers(model) {
		return nil
	}
	structure := skeleton.Build(decoded)
	return func(obj map[string]any) (map[string]any, error) {
		out := runtime.DeepCopyJSON(obj)
		structure.Default(out)
		return out, nil
	}
}

// refers reports whether a schema refers to another one.
func refers(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		_, isReference := v["$ref"].(string)
		return isReference || slices.ContainsFunc(slices.Collect(maps.Values(v)), refers)
	case []any:
		return slices.ContainsFunc(v, refers)
	}
	return false
}

// modelOf returns the schema of a kind in an OpenAPI document, nil if there is none.
func modelOf(gvk kind.GroupVersionKind, document []byte) map[string]any {
	var content map[string]any
	if utiljson.Unmarshal(document, &content) != nil {
		return nil
	}
	schemas, _, _ := unstructured.NestedFieldNoCopy(content, "components", "schemas")
	models, _ := schemas.(map[string]any)
	for _, model := range models {
		object, ok := model.(map[string]any)
		if ok && names(object["x-kubernetes-group-version-kind"], gvk) {
			return object
		}
	}
	return nil
}

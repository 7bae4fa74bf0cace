package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/schema"
)

// PublishedSchema returns the schema of a kind in the OpenAPI v3 document of its group and version,
// with the models that it refers to in place of the references.
func PublishedSchema(document []byte, kind runtimeschema.GroupVersionKind) (*schema.Schema, error) {
	var read map[string]any
	if err := json.Unmarshal(document, &read); err != nil {
		return nil, fmt.Errorf("OpenAPI of %s: %w", kind.GroupVersion(), err)
	}
	components, _ := read["components"].(map[string]any)
	models, _ := components["schemas"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if model, _ := models[name].(map[string]any); isModelOf(model, kind) {
			expanded := Expand(name, func(name string) map[string]any { model, _ := models[name].(map[string]any); return model })
			s, _, err := schema.Decode(expanded)
			return s, err
		}
	}
	return nil, errors.New("the server publishes no schema of " + kind.String())
}

// isModelOf reports whether a model is the one of a kind.
func isModelOf(model map[string]any, kind runtimeschema.GroupVersionKind) bool {
	kinds, _ := model["x-kubernetes-group-version-kind"].([]any)
	return slices.ContainsFunc(kinds, func(each any) bool {
		k, _ := each.(map[string]any)
		return k["group"] == kind.Group && k["version"] == kind.Version && k["kind"] == kind.Kind
	})
}

// Expand returns a model for schema.Decode, with the models that it refers to in place of the references. model returns a model by its
// name, nil if there is none.
func Expand(name string, model func(name string) map[string]any) any {
	return expansion{model}.expand(model(name), []string{name})
}

// expansion replaces references by the models that they name.
type expansion struct {
	model func(name string) map[string]any
}

// expand returns a node without references. above are the models that the node is in; a reference to
// one of them becomes a schema that accepts everything.
func (e expansion) expand(node any, above []string) any {
	switch node := node.(type) {
	case map[string]any:
		if name, ok := reference(node); ok {
			model := e.model(name)
			if slices.Contains(above, name) || model == nil {
				return map[string]any{}
			}
			return e.expand(model, append(slices.Clone(above), name))
		}
		out := make(map[string]any, len(node))
		for key, value := range node {
			out[key] = e.expand(value, above)
		}
		return out
	case []any:
		out := make([]any, len(node))
		for i, value := range node {
			out[i] = e.expand(value, above)
		}
		return out
	}
	return node
}

// reference returns the name of the model that a node refers to. A node with a default or a
// description has the reference in allOf, because OpenAPI ignores what stands beside a reference.
func reference(node map[string]any) (string, bool) {
	if all, _ := node["allOf"].([]any); len(all) == 1 && node["properties"] == nil {
		if only, isNode := all[0].(map[string]any); isNode {
			node = only
		}
	}
	ref, ok := node["$ref"].(string)
	return ref[strings.LastIndex(ref, "/")+1:], ok
}

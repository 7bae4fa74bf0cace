package upstream_test

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/native/openapi"
)

// models is the published schema, by the name of the model.
type models map[string]*spec.Schema

func publishedModels() models {
	all := models{}
	for name, definition := range openapi.GetOpenAPIDefinitions(spec.MustCreateRef) {
		all[name] = &definition.Schema
	}
	return all
}

// resolve follows references. It returns the schema and the name of its model, if it has one.
func (m models) resolve(schema *spec.Schema) (resolved *spec.Schema, model string) {
	for {
		ref := schema.Ref.String()
		switch {
		case ref != "" && m[ref] != nil:
			schema, model = m[ref], ref
		case len(schema.AllOf) == 1:
			schema = &schema.AllOf[0]
		default:
			return schema, model
		}
	}
}

// ignored are the fields that no generated change touches: the request names the object with
// them, or the server sets them.
var ignored = []string{
	"apiVersion", "kind", "managedFields", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
	"resourceVersion", "selfLink", "namespace", "generateName", "generation",
}

// properties returns the properties of an object schema that changes may touch, in a fixed
// order.
func (m models) properties(schema *spec.Schema, model string) []string {
	names := slices.Sorted(maps.Keys(schema.Properties))
	isMeta := strings.HasSuffix(model, ".ObjectMeta")
	_, isRoot := schema.Properties["metadata"]
	return slices.DeleteFunc(names, func(name string) bool {
		return (isMeta || isRoot) && slices.Contains(ignored, name)
	})
}

package definition

import (
	"maps"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/schema"
)

// OpenAPIModelName returns upstream's name, so that the type is published under
// it.
func (CustomResourceDefinition) OpenAPIModelName() string {
	return apiextensionsv1.CustomResourceDefinition{}.OpenAPIModelName()
}

// OpenAPIModelName returns upstream's name, so that the type is published under
// it.
func (CustomResourceDefinitionList) OpenAPIModelName() string {
	return apiextensionsv1.CustomResourceDefinitionList{}.OpenAPIModelName()
}

// OpenAPIDefinitions returns the OpenAPI schemas of CustomResourceDefinitions in
// both API versions: upstream's schemas, with prune, status.skeletons and our
// schema keywords added. Clients use them to validate definitions, and server-side
// apply uses them to merge definitions.
func OpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	const models = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions."
	out := map[string]common.OpenAPIDefinition{}
	for name, d := range generatedopenapi.GetOpenAPIDefinitions(ref) {
		if strings.HasPrefix(name, models) {
			out[name] = d
		}
	}
	for _, version := range []string{V1, V1beta1} {
		prefix := models + version + "."
		declare(out, prefix+"JSONSchemaProps", keywords())
		declare(out, prefix+"CustomResourceDefinitionSpec", map[string]spec.Schema{
			"prune": flag("prune says for all versions whether objects lose the fields that the schema does not specify. " +
				"It is the opposite of preserveUnknownFields."),
		})
		declare(out, prefix+"CustomResourceDefinitionVersion", map[string]spec.Schema{
			"prune": flag("prune says whether objects of this version lose the fields that the schema does not specify."),
		})
		declare(out, prefix+"CustomResourceDefinitionStatus", map[string]spec.Schema{"skeletons": skeletonList()})
	}
	return out
}

// declare adds properties to a model. It replaces the map of properties, because
// upstream may share the existing one.
func declare(models map[string]common.OpenAPIDefinition, name string, added map[string]spec.Schema) {
	model, ok := models[name]
	if !ok {
		return
	}
	properties := maps.Clone(model.Schema.Properties)
	maps.Copy(properties, added)
	model.Schema.Properties = properties
	models[name] = model
}

func keywords() map[string]spec.Schema {
	normalize := *spec.StringProperty().WithDescription(
		"x-kubernetes-normalize: undefined makes null, [] and {} at this property the same as absent.")
	return map[string]spec.Schema{
		schema.ImmutableKeyword: flag("x-kubernetes-immutable keeps the whole value as it is, absence included."),
		schema.ImmutableKeysKeyword: flag(
			"x-kubernetes-immutable-keys keeps the set of keys of a map, or of a list of type map; the values may change."),
		schema.AdditionOnlyKeyword: flag("x-kubernetes-addition-only lets keys, or items of a list of type map or set, come and not go."),
		schema.DeletionOnlyKeyword: flag("x-kubernetes-deletion-only lets keys, or items of a list of type map or set, go and not come."),
		schema.NoPruneKeyword:      flag("x-kubernetes-no-prune leaves the value alone, with every field at every depth."),
		schema.NormalizeKeyword:    normalize,
	}
}

func flag(description string) spec.Schema {
	return *spec.BooleanProperty().WithDescription(description)
}

func skeletonList() spec.Schema {
	shown := spec.Schema{SchemaProps: spec.SchemaProps{
		Description: "schema is the skeleton.",
		Type:        []string{"object"},
	}}
	shown.AddExtension(schema.PreserveUnknownFieldsKeyword, true)
	item := spec.Schema{SchemaProps: spec.SchemaProps{
		Type:     []string{"object"},
		Required: []string{"version", "schema"},
		Properties: map[string]spec.Schema{
			"version": *spec.StringProperty().WithDescription("version is the name of the version."), "schema": shown,
		},
	}}
	out := *spec.ArrayProperty(&item).WithDescription(
		"skeletons are the shapes that the schemas have, when the annotation " + ShowSkeletonAnnotation + ` is "true".`)
	out.AddExtension(schema.ListTypeKeyword, "atomic")
	return out
}

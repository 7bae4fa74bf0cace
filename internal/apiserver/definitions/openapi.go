package definitions

import (
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	upstream "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
	"holdfast.dev/holdfast/internal/native/openapi"
	"holdfast.dev/holdfast/schema"
)

// Models maps the Go types of definitions to the names under which Kubernetes
// publishes them.
func Models() map[string]string {
	models := map[string]string{}
	for ours, published := range map[any]util.OpenAPIModelNamer{
		&definition.CustomResourceDefinition{}:     apiextensionsv1.CustomResourceDefinition{},
		&definition.CustomResourceDefinitionList{}: apiextensionsv1.CustomResourceDefinitionList{},
		&v1beta1.CustomResourceDefinition{}:        apiextensionsv1beta1.CustomResourceDefinition{},
		&v1beta1.CustomResourceDefinitionList{}:    apiextensionsv1beta1.CustomResourceDefinitionList{},
	} {
		models[util.GetCanonicalTypeName(ours)] = published.OpenAPIModelName()
	}
	return models
}

// OpenAPIDefinitions returns the published schemas of definitions and of all built-in
// kinds.
func OpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := upstream.GetOpenAPIDefinitions(ref)
	for _, name := range []string{
		apiextensionsv1.JSONSchemaProps{}.OpenAPIModelName(), apiextensionsv1beta1.JSONSchemaProps{}.OpenAPIModelName(),
	} {
		declareKeywords(all, name)
	}
	for _, name := range []string{
		apiextensionsv1.CustomResourceDefinitionSpec{}.OpenAPIModelName(),
		apiextensionsv1.CustomResourceDefinitionVersion{}.OpenAPIModelName(),
		apiextensionsv1beta1.CustomResourceDefinitionSpec{}.OpenAPIModelName(),
		apiextensionsv1beta1.CustomResourceDefinitionVersion{}.OpenAPIModelName(),
	} {
		declare(all, name, "prune", *spec.BooleanProperty().WithDescription(
			"prune says whether the server removes fields that the schema does not specify."))
	}
	for _, name := range []string{
		apiextensionsv1.CustomResourceDefinitionStatus{}.OpenAPIModelName(),
		apiextensionsv1beta1.CustomResourceDefinitionStatus{}.OpenAPIModelName(),
	} {
		declare(all, name, "skeletons", skeletonsSchema())
	}
	for goName, model := range Models() {
		all[goName] = all[model]
	}
	// Both maps hold the types of package meta/v1. The generated definitions of package
	// native replace those of upstream.
	maps.Copy(all, openapi.GetOpenAPIDefinitions(ref))
	return all
}

// declareKeywords adds the schema keywords of this server to the published type
// JSONSchemaProps.
func declareKeywords(all map[string]common.OpenAPIDefinition, name string) {
	for keyword, description := range map[string]string{
		schema.ImmutableKeyword:     "x-kubernetes-immutable, set to true, forbids every change of the field and the fields below it.",
		schema.ImmutableKeysKeyword: "x-kubernetes-immutable-keys, set to true, forbids adding and removing keys or items.",
		schema.AdditionOnlyKeyword:  "x-kubernetes-addition-only, set to true, allows adding keys or items, and forbids removing them.",
		schema.DeletionOnlyKeyword:  "x-kubernetes-deletion-only, set to true, allows removing keys or items, and forbids adding them.",
		schema.NoPruneKeyword:       "x-kubernetes-no-prune, set to true, turns pruning off for the value and everything in it.",
	} {
		declare(all, name, keyword, *spec.BooleanProperty().WithDescription(description))
	}
	declare(all, name, schema.NormalizeKeyword, *spec.StringProperty().WithDescription(
		"x-kubernetes-normalize, set to undefined, removes null and empty values."))
	constraints := spec.ArrayProperty(spec.StringProperty()).WithDescription(
		"x-kubernetes-update is a set of NoSet, NoUnset, NoModify, NoAddItem and NoRemoveItem: changes that it forbids.")
	constraints.VendorExtensible.AddExtension("x-kubernetes-list-type", "set")
	declare(all, name, schema.UpdateKeyword, *constraints)
	entry := all[name]
	entry.Schema.VendorExtensible.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	all[name] = entry
}

func declare(all map[string]common.OpenAPIDefinition, name, property string, declared spec.Schema) {
	entry := all[name]
	entry.Schema.SetProperty(property, declared)
	all[name] = entry
}

func skeletonsSchema() spec.Schema {
	item := spec.MapProperty(nil)
	item.AdditionalProperties = nil
	item.SetProperty("version", *spec.StringProperty())
	shape := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	shape.VendorExtensible.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	item.SetProperty("schema", shape)
	list := spec.ArrayProperty(item)
	list.VendorExtensible.AddExtension("x-kubernetes-list-type", "atomic")
	return *list.WithDescription("skeletons are the shapes that the schemas have.")
}

package definitions_test

import (
	"testing"

	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
)

// The published types of definitions have the fields and keywords of this server, and every type
// that they refer to is published too.
func TestOpenAPIDefinitions(t *testing.T) {
	models := definitions.OpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) })
	for _, root := range []any{
		definition.CustomResourceDefinition{},
		v1beta1.CustomResourceDefinition{},
		definition.CustomResourceDefinitionList{},
		v1beta1.CustomResourceDefinitionList{},
	} {
		if _, ok := models[util.GetCanonicalTypeName(root)]; !ok {
			t.Errorf("%T is not described", root)
		}
	}
	for _, version := range []string{"v1", "v1beta1"} {
		for model, names := range map[string][]string{
			"JSONSchemaProps": {
				"x-kubernetes-immutable", "x-kubernetes-immutable-keys", "x-kubernetes-addition-only", "x-kubernetes-deletion-only",
				"x-kubernetes-no-prune", "x-kubernetes-normalize", "properties",
			},
			"CustomResourceDefinitionSpec":    {"prune", "group"},
			"CustomResourceDefinitionVersion": {"prune", "name"},
			"CustomResourceDefinitionStatus":  {"skeletons", "conditions"},
		} {
			described := models["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions."+version+"."+model].Schema.Properties
			for _, name := range names {
				if _, ok := described[name]; !ok {
					t.Errorf("%s %s has no %s", version, model, name)
				}
			}
		}
	}
	for name := range models {
		for _, needed := range models[name].Dependencies {
			if _, ok := models[needed]; !ok {
				t.Errorf("%s needs %s, which is not described", name, needed)
			}
		}
	}
}

package plain

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"

	"holdfast.dev/holdfast/internal/definition"
)

// V3 returns the v3 document of a version of a group. All definitions have the group and the version.
func V3(gv schema.GroupVersion, crds []*definition.CustomResourceDefinition) (*spec3.OpenAPI, error) {
	var parts []*spec3.OpenAPI
	for _, crd := range crds {
		paths, err := pathsOnly(crd)
		if err != nil {
			return nil, err
		}
		part, err := builder.BuildOpenAPIV3(paths, gv.Version, builder.Options{AllowNonStructural: true})
		if err != nil {
			return nil, err
		}
		model, err := definition.Publish(crd, gv.Version)
		if err != nil {
			return nil, err
		}
		if part.Components != nil {
			part.Components.Schemas[definition.ModelName(gv.WithKind(crd.Spec.Names.Kind))] = model.OpenAPIV3()
		}
		parts = append(parts, part)
	}
	return builder.MergeSpecsV3(parts...)
}

// pathsOnly returns a definition without schemas. Kubernetes' OpenAPI builder builds the
// paths from it. The builder does not get the schemas, because it is slow and drops the
// keywords that it does not know. definition.Publish renders the schemas instead.
func pathsOnly(crd *definition.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	outline := *crd
	outline.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for i := range outline.Spec.Versions {
		outline.Spec.Versions[i].Schema = nil
	}
	return definition.Typed(&outline)
}

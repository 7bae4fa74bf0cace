package plain

import (
	"fmt"
	"iter"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/openapi"
	"holdfast.dev/holdfast/internal/definition"
)

// Form makes the v2 document from nothing each time.
type Form struct{}

// Add returns a document with the paths and models of all served versions of definitions added to a document.
func (Form) Add(document *spec.Swagger, crds []*definition.CustomResourceDefinition) (*spec.Swagger, error) {
	var added []*spec.Swagger
	for crd, version := range Served(crds) {
		one, err := v2(crd, version.Name)
		if err != nil {
			return nil, fmt.Errorf("version %s of %s: %w", version.Name, crd.Name, err)
		}
		added = append(added, one)
	}
	return builder.MergeSpecs(document, added...)
}

// Document returns the document that clients get.
func (Form) Document(build func() (*spec.Swagger, error)) *openapi.Document {
	return openapi.NewV2(func() ([]byte, error) {
		document, err := build()
		if err != nil {
			return nil, err
		}
		return document.MarshalJSON()
	})
}

// Served returns the served versions of definitions, in their order.
func Served(crds []*definition.CustomResourceDefinition) iter.Seq2[
	*definition.CustomResourceDefinition, *definition.CustomResourceDefinitionVersion,
] {
	return func(yield func(*definition.CustomResourceDefinition, *definition.CustomResourceDefinitionVersion) bool) {
		for _, crd := range crds {
			for i := range crd.Spec.Versions {
				if v := &crd.Spec.Versions[i]; v.Served && !yield(crd, v) {
					return
				}
			}
		}
	}
}

// v2 returns the v2 document of a version of a definition. It has no defaults, as the one of the built-in kinds.
func v2(crd *definition.CustomResourceDefinition, version string) (*spec.Swagger, error) {
	paths, err := pathsOnly(crd)
	if err != nil {
		return nil, err
	}
	document, err := builder.BuildOpenAPIV2(paths, version, builder.Options{V2: true, AllowNonStructural: true})
	if err != nil {
		return nil, err
	}
	model, err := definition.Publish(crd, version)
	if err != nil {
		return nil, err
	}
	kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind}
	document.Definitions[definition.ModelName(kind)] = *model.OpenAPIV2()
	document.Definitions = handler.PruneDefaults(document.Definitions)
	return document, nil
}

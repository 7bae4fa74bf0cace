package documents

import (
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// withForeign returns a v2 document with those of other servers added to it.
func withForeign(document *spec.Swagger, foreign []*spec.Swagger) *spec.Swagger {
	for _, other := range foreign {
		both, err := builder.MergeSpecs(document, withoutKinds(other, document.Definitions))
		if err != nil {
			// One server cannot make the document of all others fail.
			klog.ErrorS(err, "OpenAPI v2 of an aggregated API is left out")
			continue
		}
		document = both
	}
	return document
}

// withoutKinds returns the document without the kinds of those models that are also in known. The
// library that merges documents would add these kinds to the known models, which other documents
// share, and it panics if a known model has no kind.
func withoutKinds(document *spec.Swagger, known spec.Definitions) *spec.Swagger {
	out := *document
	out.Definitions = maps.Clone(document.Definitions)
	for name, model := range out.Definitions {
		if _, exists := known[name]; exists && model.Extensions != nil {
			model.Extensions = maps.Clone(model.Extensions)
			delete(model.Extensions, "x-kubernetes-group-version-kind")
			out.Definitions[name] = model
		}
	}
	return &out
}

package assembled

import (
	"compress/gzip"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/documents/plain"
	"holdfast.dev/holdfast/internal/apiserver/deflate"
	"holdfast.dev/holdfast/internal/apiserver/openapi"
	"holdfast.dev/holdfast/internal/definition"
)

// Identify returns a hash of everything that the document of a version of definitions is made of.
type Identify func(schema.GroupVersion, []*definition.CustomResourceDefinition) string

// Form makes the v2 document from pieces. It is safe for concurrent use.
type Form struct {
	identify    Identify
	compressors *deflate.Pool

	mu sync.Mutex
	// kept holds the parts of the last document, by hash.
	kept   map[string]part
	routes routeTexts
}

// New returns a form that keeps nothing yet.
func New(identify Identify) *Form {
	return &Form{
		identify: identify, compressors: deflate.NewPool(gzip.DefaultCompression), routes: routeTexts{map[traits]routes{}},
	}
}

// Add returns a document with the paths and models of all served versions of definitions added to a document. Each of them has nothing
// but an extension with its piece, which Document replaces by the text. Add keeps the parts of the definitions in place of those of the
// last call.
func (f *Form) Add(document *spec.Swagger, crds []*definition.CustomResourceDefinition) (*spec.Swagger, error) {
	parts, err := f.parts(crds)
	if err != nil {
		return nil, err
	}
	added := make([]*spec.Swagger, 0, 2*len(parts))
	for _, p := range parts {
		added = append(added, p.shared, p.placeholders())
	}
	if sharePath(document, added) {
		return plain.Form{}.Add(document, crds)
	}
	out, err := builder.MergeSpecs(document, added...)
	if err != nil {
		return nil, err
	}
	if isRenamed(out, append(added, document)) {
		return plain.Form{}.Add(document, crds)
	}
	return out, nil
}

// Document returns the document that clients get.
func (f *Form) Document(build func() (*spec.Swagger, error)) *openapi.Document {
	return openapi.NewV2Pieces(func() ([]deflate.Piece, error) {
		document, err := build()
		if err != nil {
			return nil, err
		}
		return assemble(document, f.compressors)
	})
}

// parts returns the parts of definitions, and keeps them in place of those of the last call.
func (f *Form) parts(crds []*definition.CustomResourceDefinition) ([]part, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	compressor := f.compressors.Get()
	defer f.compressors.Put(compressor)
	var out []part
	kept := make(map[string]part, len(crds))
	for crd, v := range plain.Served(crds) {
		hash := f.identify(schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}, []*definition.CustomResourceDefinition{crd})
		made, ok := f.kept[hash]
		if !ok {
			var err error
			if made, err = f.newPart(crd, v, compressor); err != nil {
				return nil, fmt.Errorf("version %s of %s: %w", v.Name, crd.Name, err)
			}
		}
		kept[hash] = made
		out = append(out, made)
	}
	f.kept = kept
	return out, nil
}

// sharePath reports whether a document has a path of one of the others. The library then removes models that no other path uses, and
// does not see which models a piece uses.
func sharePath(document *spec.Swagger, others []*spec.Swagger) bool {
	for _, other := range others {
		for path := range other.Paths.Paths {
			if _, ok := document.Paths.Paths[path]; ok {
				return true
			}
		}
	}
	return false
}

// isRenamed reports whether the library renamed a model or a parameter when it made one document from others, because two of them have
// the same name. A piece would refer to the wrong one.
func isRenamed(document *spec.Swagger, from []*spec.Swagger) bool {
	models, parameters := map[string]bool{}, map[string]bool{}
	for _, one := range from {
		for name := range one.Definitions {
			models[name] = true
		}
		for name := range one.Parameters {
			parameters[name] = true
		}
	}
	return len(document.Definitions) > len(models) || len(document.Parameters) > len(parameters)
}

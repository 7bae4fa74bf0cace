package custom

import (
	"compress/gzip"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/apiserver/deflate"
	"holdfast.dev/holdfast/definition"
)

// part is what one version of a definition adds to the v2 document: compressed JSON of models by name and of paths. With many
// definitions, these are nearly all of the document. They need much more memory when they are parsed.
type part struct {
	paths, models map[string]*deflate.Piece
	shared        *spec.Swagger
}

// parts keeps the parts of the last document. The next one needs new parts only for the definitions that changed.
type parts struct {
	// identify returns a hash of everything that a part is made of.
	identify func(schema.GroupVersion, []*definition.CustomResourceDefinition) string

	mu     sync.Mutex
	kept   map[string]part
	routes routeTexts
}

func newParts(identify func(schema.GroupVersion, []*definition.CustomResourceDefinition) string) *parts {
	return &parts{identify: identify, routes: routeTexts{map[traits]routes{}}}
}

// of returns the parts of definitions, and keeps them in place of those of the last call.
func (p *parts) of(crds []*definition.CustomResourceDefinition) ([]part, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	compressor := deflate.NewPool(gzip.DefaultCompression).Get()
	var out []part
	kept := make(map[string]part, len(crds))
	for _, crd := range crds {
		for i := range crd.Spec.Versions {
			v := &crd.Spec.Versions[i]
			if !v.Served {
				continue
			}
			hash := p.identify(schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}, []*definition.CustomResourceDefinition{crd})
			made, ok := p.kept[hash]
			if !ok {
				var err error
				if made, err = p.make(crd, v, compressor); err != nil {
					return nil, fmt.Errorf("version %s of %s: %w", v.Name, crd.Name, err)
				}
			}
			kept[hash] = made
			out = append(out, made)
		}
	}
	p.kept = kept
	return out, nil
}

func (p *parts) make(
	crd *definition.CustomResourceDefinition, v *definition.CustomResourceDefinitionVersion, compressor *deflate.Compressor,
) (part, error) {
	about, err := p.routes.of(crd, v)
	if err != nil {
		return part{}, err
	}
	published, err := definition.Publish(crd, v.Name)
	if err != nil {
		return part{}, err
	}
	model, err := escaped(published.OpenAPIV2())
	if err != nil {
		return part{}, err
	}
	models := maps.Clone(about.models)
	models[definition.ModelName(runtimeKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})] = model
	out := part{shared: about.shared}
	if out.models, err = pack(models, compressor); err != nil {
		return part{}, err
	}
	out.paths, err = pack(about.paths, compressor)
	return out, err
}

func pack(texts map[string][]byte, compressor *deflate.Compressor) (map[string]*deflate.Piece, error) {
	out := make(map[string]*deflate.Piece, len(texts))
	for name, text := range texts {
		piece, err := compressor.Compress(text)
		if err != nil {
			return nil, err
		}
		out[name] = &piece
	}
	return out, nil
}

// pieceExtension is the key of the piece that replaces a model or a path. A document of another server cannot have a
// value with this Go type.
const pieceExtension = "x-holdfast-piece"

// merge adds parts to a document. Their models and paths have nothing but an extension with the piece.
func merge(document *spec.Swagger, all []part) (*spec.Swagger, error) {
	var merged []*spec.Swagger
	for _, p := range all {
		own := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
			Paths:       &spec.Paths{Paths: make(map[string]spec.PathItem, len(p.paths))},
			Definitions: make(spec.Definitions, len(p.models)),
		}}
		for name, piece := range p.models {
			model := spec.Schema{}
			model.AddExtension(pieceExtension, piece)
			own.Definitions[name] = model
		}
		for path, piece := range p.paths {
			item := spec.PathItem{}
			item.AddExtension(pieceExtension, piece)
			own.Paths.Paths[path] = item
		}
		merged = append(merged, p.shared, own)
	}
	return builder.MergeSpecs(document, merged...)
}

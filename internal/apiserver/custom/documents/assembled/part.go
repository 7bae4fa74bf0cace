package assembled

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/deflate"
	"holdfast.dev/holdfast/internal/definition"
)

// part is what one version of a definition adds to the v2 document: compressed JSON of models by name and of paths. With many
// definitions, these are nearly all of the document. They need much more memory when they are parsed.
type part struct {
	paths, models map[string]*deflate.Piece
	shared        *spec.Swagger
}

// newPart returns the part of a version of a definition.
func (f *Form) newPart(
	crd *definition.CustomResourceDefinition, v *definition.CustomResourceDefinitionVersion, compressor *deflate.Compressor,
) (part, error) {
	about, err := f.routes.of(crd, v)
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
	models[definition.ModelName(schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})] = model
	out := part{shared: about.shared}
	if out.models, err = compressAll(models, compressor); err != nil {
		return part{}, err
	}
	out.paths, err = compressAll(about.paths, compressor)
	return out, err
}

// compressAll returns the pieces of texts, by the names of the texts.
func compressAll(texts map[string][]byte, compressor *deflate.Compressor) (map[string]*deflate.Piece, error) {
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

// placeholders returns a document with the paths and models of the part, which have nothing but an extension with the piece.
func (p part) placeholders() *spec.Swagger {
	out := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Paths:       &spec.Paths{Paths: make(map[string]spec.PathItem, len(p.paths))},
		Definitions: make(spec.Definitions, len(p.models)),
	}}
	for name, piece := range p.models {
		model := spec.Schema{}
		model.AddExtension(pieceExtension, piece)
		out.Definitions[name] = model
	}
	for path, piece := range p.paths {
		item := spec.PathItem{}
		item.AddExtension(pieceExtension, piece)
		out.Paths.Paths[path] = item
	}
	return out
}

// pieceOf returns the piece of a placeholder, or nil.
func pieceOf(extensions spec.Extensions) *deflate.Piece {
	piece, _ := extensions[pieceExtension].(*deflate.Piece)
	return piece
}

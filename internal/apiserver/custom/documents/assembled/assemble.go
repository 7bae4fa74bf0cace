package assembled

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/deflate"
)

// assemble returns the JSON of a document that Form.Add returned: what the library would encode, with the texts of the pieces in the
// places of their models and paths.
func assemble(document *spec.Swagger, compressors *deflate.Pool) ([]deflate.Piece, error) {
	before, after, err := envelope(document)
	if err != nil {
		return nil, err
	}
	compressor := compressors.Get()
	defer compressors.Put(compressor)
	a := &assembly{compressor: compressor}
	a.text.Write(before)
	a.text.WriteString(`"paths":`)
	paths := members[spec.PathItem]{
		piece:  func(item spec.PathItem) *deflate.Piece { return pieceOf(item.Extensions) },
		encode: func(items map[string]spec.PathItem) ([]byte, error) { return spec.Paths{Paths: items}.MarshalJSON() },
	}
	if err := paths.add(a, document.Paths.Paths); err != nil {
		return nil, err
	}
	a.text.WriteString(`,"definitions":`)
	models := members[spec.Schema]{
		piece:  func(model spec.Schema) *deflate.Piece { return pieceOf(model.Extensions) },
		encode: encodeModels,
	}
	if err := models.add(a, document.Definitions); err != nil {
		return nil, err
	}
	a.text.Write(after)
	err = a.flush()
	return a.pieces, err
}

// envelope returns the JSON of a document before its paths and after its models, which follow each other.
func envelope(document *spec.Swagger) (before, after []byte, err error) {
	outer := *document
	outer.Paths, outer.Definitions = &spec.Paths{}, spec.Definitions{pieceExtension: {}}
	text, err := outer.MarshalJSON()
	if err != nil {
		return nil, nil, err
	}
	before, after, found := bytes.Cut(text, []byte(`"paths":{},"definitions":{"`+pieceExtension+`":{}}`))
	if !found {
		return nil, nil, errors.New("the library encodes OpenAPI documents in another order")
	}
	return before, after, nil
}

func encodeModels(models map[string]spec.Schema) ([]byte, error) {
	text, err := spec.Swagger{SwaggerProps: spec.SwaggerProps{Definitions: models}}.MarshalJSON()
	if err != nil {
		return nil, err
	}
	text, found := bytes.CutPrefix(text, []byte(`{"paths":null,"definitions":`))
	if !found {
		return nil, errors.New("the library encodes OpenAPI models in another way")
	}
	return text[:len(text)-1], nil
}

// assembly collects the pieces of a document. text has what follows the last piece.
type assembly struct {
	compressor *deflate.Compressor
	text       bytes.Buffer
	pieces     []deflate.Piece
}

// flush makes a piece of the text.
func (a *assembly) flush() error {
	piece, err := a.compressor.Compress(a.text.Bytes())
	a.pieces = append(a.pieces, piece)
	a.text.Reset()
	return err
}

// members adds the members of a JSON object to a document.
type members[V any] struct {
	// piece returns the piece of a value, or nil.
	piece func(V) *deflate.Piece
	// encode returns an object as JSON, with sorted keys.
	encode func(map[string]V) ([]byte, error)
}

// add adds an object with sorted keys.
func (m members[V]) add(a *assembly, object map[string]V) error {
	separator := "{"
	plain := map[string]V{} // the members since the last one with a piece
	addPlain := func() error {
		if len(plain) == 0 {
			return nil
		}
		text, err := m.encode(plain)
		if err != nil {
			return err
		}
		a.text.WriteString(separator)
		a.text.Write(text[1 : len(text)-1])
		separator = ","
		clear(plain)
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		piece := m.piece(object[key])
		if piece == nil {
			plain[key] = object[key]
			continue
		}
		if err := addPlain(); err != nil {
			return err
		}
		quoted, err := json.Marshal(key)
		if err != nil {
			return err
		}
		a.text.WriteString(separator)
		a.text.Write(quoted)
		a.text.WriteByte(':')
		separator = ","
		if err := a.flush(); err != nil {
			return err
		}
		a.pieces = append(a.pieces, *piece)
	}
	if err := addPlain(); err != nil {
		return err
	}
	if separator == "{" {
		a.text.WriteString(separator)
	}
	a.text.WriteByte('}')
	return nil
}

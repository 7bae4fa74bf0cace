package custom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// textParts holds parts of a v2 document as JSON. In the document, each part is replaced by a small
// object with its number, and fill puts the parts in. With many definitions, their schemas and paths are
// nearly all of the document, and they need much more memory than their JSON.
type textParts struct {
	// mark is the beginning of each number. It is random, so that no definition contains it.
	mark  string
	texts [][]byte
}

// partExtension is the key of the number of a part.
const partExtension = "x-holdfast-part"

func newTextParts() *textParts { return &textParts{mark: uuid.NewString() + "-"} }

// schema keeps a schema and returns the one that replaces it. That one has the same kinds.
func (p *textParts) schema(s spec.Schema) (spec.Schema, error) {
	number, err := p.add(s)
	replaced := spec.Schema{}
	replaced.AddExtension(partExtension, number)
	if kinds, ok := s.Extensions["x-kubernetes-group-version-kind"]; ok {
		replaced.AddExtension("x-kubernetes-group-version-kind", kinds)
	}
	return replaced, err
}

// path keeps the description of a path and returns the one that replaces it.
func (p *textParts) path(item spec.PathItem) (spec.PathItem, error) {
	number, err := p.add(item)
	replaced := spec.PathItem{}
	replaced.AddExtension(partExtension, number)
	return replaced, err
}

func (p *textParts) add(part any) (number string, err error) {
	text, err := json.Marshal(part)
	p.texts = append(p.texts, text)
	return p.mark + strconv.Itoa(len(p.texts)-1), err
}

// fill returns a document with the parts in their places.
func (p *textParts) fill(document []byte) ([]byte, error) {
	size := len(document)
	for _, text := range p.texts {
		size += len(text)
	}
	out := bytes.NewBuffer(make([]byte, 0, size))
	key := []byte(fmt.Sprintf("%q:%q", partExtension, p.mark))
	key = key[:len(key)-1] // without the quote, which follows the number
	for {
		at := bytes.Index(document, key)
		if at < 0 {
			out.Write(document)
			return out.Bytes(), nil
		}
		number, _, _ := bytes.Cut(document[at+len(key):], []byte(`"`))
		i, err := strconv.Atoi(string(number))
		if err != nil || i >= len(p.texts) {
			return nil, fmt.Errorf("the OpenAPI document has no part %q", number)
		}
		start, end := enclosing(document, at)
		out.Write(document[:start])
		out.Write(p.texts[i])
		document = document[end:]
	}
}

// enclosing returns the start and the end of the JSON object around a position. The strings of the
// object have no braces: they are numbers of parts, and names of kinds.
func enclosing(document []byte, at int) (start, end int) {
	depth := 1
	for start = at; depth > 0; {
		start--
		switch document[start] {
		case '{':
			depth--
		case '}':
			depth++
		}
	}
	for end, depth = start+1, 1; depth > 0; end++ {
		switch document[end] {
		case '{':
			depth++
		case '}':
			depth--
		}
	}
	return start, end
}

// keepOwn keeps the paths of a part of the document, and the schema of one kind.
func (p *textParts) keepOwn(part *spec.Swagger, name string) error {
	var err error
	if part.Definitions[name], err = p.schema(part.Definitions[name]); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if part.Paths == nil {
		return nil
	}
	for path, item := range part.Paths.Paths {
		if part.Paths.Paths[path], err = p.path(item); err != nil {
			return fmt.Errorf("encode %s: %w", strings.TrimPrefix(path, "/"), err)
		}
	}
	return nil
}

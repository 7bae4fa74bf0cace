package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Document is one YAML document of a file.
type Document struct {
	// File is the name of the file.
	File string
	// Start and End are the bytes of the document in the file, without separators.
	Start, End int
	// Line is the line of the file at which the document begins, from 1 on.
	Line int
	// Text is the text of the document, without actions of templates.
	Text []byte

	// source is the text with the actions of templates, nil if it is Text.
	source     []byte
	root       *yamlv3.Node
	parsed     bool
	duplicated bool // an object has a duplicate key
}

// Object is one object of a document.
type Object struct {
	*Document
	// Base is the path of the object in the document: empty, or items[3] for an item of
	// a list.
	Base string
	// APIVersion and Kind are the type of the object. They are empty if the document
	// has none.
	APIVersion, Kind string
	// JSON is the object.
	JSON json.RawMessage
}

// SyntaxError is a document that is not YAML, or no object.
type SyntaxError struct {
	Position
	Detail string
}

// Error returns the line and the detail.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Detail) }

// Split returns the documents of a file. It leaves out documents without content.
func Split(file string, data []byte) []*Document {
	var documents []*Document
	start, line := 0, 1
	add := func(end, next int) {
		text := data[start:end]
		if hasContent(text) {
			documents = append(documents, &Document{File: file, Start: start, End: end, Line: line, Text: text})
		}
		line += bytes.Count(data[start:next], []byte("\n"))
		start = next
	}
	for at := 0; at < len(data); {
		next := len(data)
		if end := bytes.IndexByte(data[at:], '\n'); end >= 0 {
			next = at + end + 1
		}
		if isSeparator(data[at:next]) {
			add(at, next)
		}
		at = next
	}
	add(len(data), len(data))
	return documents
}

// isSeparator reports whether a line separates documents. As in kubectl, text after the
// dashes does not belong to a document.
func isSeparator(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n' || rest[0] == '\r')
}

// hasContent reports whether a text has a line that is not empty and no comment.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		if len(trimmed) > 0 && trimmed[0] != '#' && !bytes.Equal(trimmed, []byte("...")) {
			return true
		}
	}
	return false
}

// NoObject is the detail of a SyntaxError about a text or a list, which a file of another program may have.
const NoObject = "this is no object"

// Objects returns the objects of the document: the document itself, or the items of a
// list. The error is a *SyntaxError.
func (d *Document) Objects() ([]Object, error) {
	data, err := yaml.YAMLToJSONStrict(d.Text)
	if err != nil {
		var lenient error
		if data, lenient = yaml.YAMLToJSON(d.Text); lenient != nil {
			return nil, d.syntaxError(lenient)
		}
		// The only other difference between the two functions.
		d.duplicated = true
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, &SyntaxError{d.begin(), NoObject}
	}
	var header struct {
		APIVersion any             `json:"apiVersion"`
		Kind       any             `json:"kind"`
		Items      json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &header); err != nil {
		return nil, &SyntaxError{d.begin(), err.Error()}
	}
	object := Object{Document: d, JSON: data}
	object.APIVersion, _ = header.APIVersion.(string)
	object.Kind, _ = header.Kind.(string)
	items, isList := itemsOf(object.Kind, header.Items)
	if !isList {
		return []Object{object}, nil
	}
	objects := make([]Object, 0, len(items))
	for i, item := range items {
		one := Object{Document: d, JSON: item, Base: fmt.Sprintf("items[%d]", i)}
		one.APIVersion, one.Kind = typeOf(item, object)
		objects = append(objects, one)
	}
	return objects, nil
}

// itemsOf returns the items of a list.
func itemsOf(kind string, field json.RawMessage) (items []json.RawMessage, isList bool) {
	if !strings.HasSuffix(kind, "List") {
		return nil, false
	}
	err := json.Unmarshal(field, &items)
	return items, err == nil
}

// typeOf returns the type of an item. The items of a typed list, such as
// CustomResourceDefinitionList, may have none of their own.
func typeOf(item json.RawMessage, list Object) (apiVersion, kind string) {
	var header struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(item, &header); err == nil && header.Kind != "" {
		return header.APIVersion, header.Kind
	}
	if list.Kind == "List" {
		return "", ""
	}
	return list.APIVersion, strings.TrimSuffix(list.Kind, "List")
}

var errorLine = regexp.MustCompile(`line (\d+): `)

// syntaxError translates an error of the YAML parser. Its lines count from the start of
// the document.
func (d *Document) syntaxError(err error) *SyntaxError {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	line := 1
	if found := errorLine.FindStringSubmatchIndex(text); found != nil {
		if n, err := strconv.Atoi(text[found[2]:found[3]]); err == nil {
			line = n
		}
		text = text[:found[0]] + text[found[1]:]
		if strings.HasPrefix(text, "did not find expected") {
			// The parser counts these lines from 0, and all others from 1.
			line++
		}
	}
	if strings.HasPrefix(text, "invalid map key") {
		// The parser prints the key as a Go value.
		text = "a key is an object: is this a template?"
	}
	return &SyntaxError{Position{d.Line + line - 1, 1}, text}
}

// begin returns the position of the first line with content.
func (d *Document) begin() Position {
	line := d.Line
	for text := range bytes.Lines(d.Text) {
		if hasContent(text) {
			break
		}
		line++
	}
	return Position{line, 1}
}

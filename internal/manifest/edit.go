package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Action is what an edit does.
type Action uint8

const (
	// Remove removes the field at the path. Its value must be a scalar.
	Remove Action = iota
	// Rename gives the field at the path another name.
	Rename
	// Add adds a field to the object at the path.
	Add
)

// Edit is one change of an object.
type Edit struct {
	Action Action
	Path   string
	// Name is the new name of a field, or the name of an added field.
	Name string
	// Value is the value of an added field: a boolean.
	Value bool
}

// errUnsafe is the error for an edit that would change more than one field.
var errUnsafe = errors.New("cannot be edited without changing other text")

// Edit returns the document with one change of the object. Everything else stays as it
// is, comments too, except that a comment behind a removed field is removed with it. It
// returns an error if the text is in a form that Edit does not know. It reads the new
// text back to be sure that nothing else changed.
func (o Object) Edit(e Edit) (*Document, error) {
	d := o.Document
	at := d.find(o.path(e.Path))
	if at.missing != "" || at.value == nil {
		return nil, fmt.Errorf("%s: no such field", e.Path)
	}
	if at.shared {
		return nil, fmt.Errorf("%s: is part of a YAML anchor: %w", e.Path, errUnsafe)
	}
	made, err := editor{d.Text}.apply(e, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	edited := &Document{File: d.File, Start: d.Start, End: d.End, Line: d.Line, Text: made.in(d.Text)}
	if err := verify(e, at, d.Text, edited.Text); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	if d.source != nil {
		if !made.keepsActions(d) {
			return nil, fmt.Errorf("%s: is beside an action of a template: %w", e.Path, errUnsafe)
		}
		edited.source = made.in(d.source)
	}
	return edited, nil
}

// replacement is a range of a text, and what to write instead.
type replacement struct {
	span
	text string
}

// in returns a text with the replacement.
func (r replacement) in(text []byte) []byte {
	return bytes.Join([][]byte{text[:r.from], []byte(r.text), text[r.to:]}, nil)
}

// keepsActions reports whether the lines of the replacement have no actions of templates.
func (r replacement) keepsActions(d *Document) bool {
	from, to := bytes.LastIndexByte(d.Text[:r.from], '\n')+1, len(d.Text)
	// A removed line ends with its newline; the next line stays as it is.
	last := r.from + len(bytes.TrimSuffix(d.Text[r.from:r.to], []byte("\n")))
	if newline := bytes.IndexByte(d.Text[last:], '\n'); newline >= 0 {
		to = last + newline
	}
	return bytes.Equal(d.Text[from:to], d.source[from:to])
}

// editor edits the text of a document.
type editor struct{ text []byte }

func (t editor) apply(e Edit, at place) (replacement, error) {
	switch {
	case e.Action == Add && hasField(at.value, e.Name), e.Action == Rename && hasField(at.holder, e.Name):
		return replacement{}, fmt.Errorf("there is a field %s already", e.Name)
	case e.Action == Add && at.value.Kind == yamlv3.MappingNode:
		return t.add(e, at.value), nil
	case e.Action == Rename && at.key != nil:
		from := t.offset(at.key)
		to := from + len(at.key.Value)
		if at.key.Style&(yamlv3.DoubleQuotedStyle|yamlv3.SingleQuotedStyle) != 0 {
			from, to = from+1, to+1
		}
		if to > len(t.text) || string(t.text[from:to]) != at.key.Value {
			return replacement{}, errUnsafe
		}
		return replace(from, to, e.Name), nil
	case e.Action == Remove && at.key != nil:
		return t.remove(at)
	}
	return replacement{}, errUnsafe
}

// hasField reports whether an object has a field.
func hasField(object *yamlv3.Node, name string) bool {
	for i := 0; object != nil && i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == name {
			return true
		}
	}
	return false
}

// remove removes a field with a plain scalar on the line of its key.
func (t editor) remove(at place) (replacement, error) {
	from, to := t.offset(at.key), t.offset(at.value)+len(at.value.Value)
	plain := at.value.Kind == yamlv3.ScalarNode && at.value.Style == 0
	if !plain || to > len(t.text) || !bytes.HasSuffix(t.text[:to], []byte(at.value.Value)) {
		return replacement{}, errUnsafe
	}
	if at.holder.Style&yamlv3.FlowStyle != 0 {
		from, to = t.withComma(from, to)
		return replace(from, to, ""), nil
	}
	start := bytes.LastIndexByte(t.text[:from], '\n') + 1
	end := len(t.text)
	if newline := bytes.IndexByte(t.text[to:], '\n'); newline >= 0 {
		end = to + newline + 1
	}
	behind := bytes.TrimSpace(t.text[to:end])
	alone := len(bytes.TrimSpace(t.text[start:from])) == 0 && (len(behind) == 0 || behind[0] == '#')
	if !alone || len(at.holder.Content) < 4 {
		return replacement{}, errUnsafe
	}
	return replace(start, end, ""), nil
}

// withComma extends the field at [from, to) in braces to the comma behind it or, if
// it is the last field, the comma before it.
func (t editor) withComma(from, to int) (int, int) {
	rest := bytes.TrimLeft(t.text[to:], " \t\r\n")
	if len(rest) > 0 && rest[0] == ',' {
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
		return from, len(t.text) - len(rest)
	}
	before := bytes.TrimRight(t.text[:from], " \t\r\n")
	if len(before) > 0 && before[len(before)-1] == ',' {
		return len(before) - 1, to
	}
	return from, to
}

// add adds a field before the first field of an object.
func (t editor) add(e Edit, object *yamlv3.Node) replacement {
	field := fmt.Sprintf("%s: %t", e.Name, e.Value)
	if len(object.Content) == 0 {
		at := t.offset(object) + 1
		return replace(at, at, field)
	}
	first := object.Content[0]
	if first.Style&yamlv3.DoubleQuotedStyle != 0 {
		field = fmt.Sprintf("%q: %t", e.Name, e.Value)
	}
	at := t.offset(first)
	lineStart := bytes.LastIndexByte(t.text[:at], '\n') + 1
	newline := "\n"
	if bytes.Contains(t.text, []byte("\r\n")) {
		newline = "\r\n"
	}
	indented := newline + strings.Repeat(" ", utf8.RuneCount(t.text[lineStart:at]))
	switch isFlow := object.Style&yamlv3.FlowStyle != 0; {
	case !isFlow:
		field += indented
	case first.Line > object.Line:
		// The fields are on lines of their own, as in indented JSON.
		field += "," + indented
	default:
		field += ", "
	}
	return replace(at, at, field)
}

// offset returns the byte at which a node begins.
func (t editor) offset(n *yamlv3.Node) int {
	at := 0
	for range n.Line - 1 {
		at += bytes.IndexByte(t.text[at:], '\n') + 1
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(t.text[at:])
		at += size
	}
	return at
}

func replace(from, to int, text string) replacement { return replacement{span{from, to}, text} }

// verify reads both texts and compares the values.
func verify(e Edit, at place, oldText, newText []byte) error {
	var oldValue, newValue any
	if err := yaml.Unmarshal(oldText, &oldValue); err != nil {
		return err
	}
	if err := yaml.Unmarshal(newText, &newValue); err != nil {
		return errUnsafe
	}
	steps := at.steps
	if e.Action != Add {
		steps = steps[:len(steps)-1]
	}
	object, ok := descend(oldValue, steps).(map[string]any)
	if !ok {
		return errUnsafe
	}
	if e.Action == Add {
		object[e.Name] = e.Value
	} else {
		name := fmt.Sprint(at.steps[len(at.steps)-1])
		if e.Action == Rename {
			object[e.Name] = object[name]
		}
		delete(object, name)
	}
	if !reflect.DeepEqual(oldValue, newValue) {
		return errUnsafe
	}
	return nil
}

// descend returns the value that steps lead to, nil if there is none.
func descend(v any, steps []any) any {
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

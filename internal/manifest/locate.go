package manifest

import (
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Position is a place in a file. Line and Column count from 1, columns in characters.
type Position struct{ Line, Column int }

// Locate returns the position of a field. If the document does not have the field, it
// returns the position of the innermost parent that the document has.
func (d *Document) Locate(path string) Position {
	at := d.find(path)
	switch {
	case at.key != nil:
		return d.position(at.key)
	case at.value != nil && at.holder != nil:
		return d.position(at.value)
	}
	return d.begin()
}

// Locate returns the position of a field of the object.
func (o Object) Locate(path string) Position { return o.Document.Locate(o.path(path)) }

// path returns the path in the document of a field of the object.
func (o Object) path(path string) string {
	switch {
	case o.Base == "":
		return path
	case path == "" || path[0] == '[':
		return o.Base + path
	}
	return o.Base + "." + path
}

func (d *Document) position(n *yamlv3.Node) Position {
	return Position{d.Line + n.Line - 1, n.Column}
}

// tree returns the root of the document, nil if it cannot be parsed.
func (d *Document) tree() *yamlv3.Node {
	if !d.parsed {
		d.parsed = true
		var document yamlv3.Node
		if err := yamlv3.Unmarshal(d.Text, &document); err == nil && len(document.Content) == 1 {
			d.root = document.Content[0]
		}
	}
	return d.root
}

// place is a value in the tree of a document.
type place struct {
	key, value *yamlv3.Node // key is nil for an item of a list, and for the root
	holder     *yamlv3.Node // the object or list that has the value
	steps      []any        // the names and indexes that lead to the value
	shared     bool         // the value is part of an anchor, so it has several places
	missing    string       // the part of the path that the document does not have
}

// find returns the value at a path, or its innermost parent that exists.
func (d *Document) find(path string) place {
	root := d.tree()
	if root == nil {
		return place{missing: path}
	}
	s := search{best: place{value: root, missing: path}}
	s.value(s.best)
	return s.best
}

// search looks for a path. best is the deepest value that it found.
type search struct{ best place }

// value looks for the missing part of the path below at. It returns true if there is nothing
// left to find.
func (s *search) value(at place) bool {
	for at.value.Kind == yamlv3.AliasNode {
		at.value, at.shared = at.value.Alias, true
	}
	if len(at.missing) < len(s.best.missing) {
		s.best = at
	}
	if at.missing == "" {
		return true
	}
	switch at.value.Kind {
	case yamlv3.MappingNode:
		return s.object(at, at.value, 0)
	case yamlv3.SequenceNode:
		text, rest, ok := cutIndex(at.missing)
		index, err := strconv.Atoi(text)
		if !ok || err != nil || index < 0 || index >= len(at.value.Content) {
			return false
		}
		return s.value(at.below(nil, at.value.Content[index], index, rest))
	}
	return false
}

// maxMerges limits the depth of merged objects (<<), which may be cyclic.
const maxMerges = 8

// object looks in an object and in the objects that are merged into it.
func (s *search) object(at place, object *yamlv3.Node, merges int) bool {
	for i := 0; i+1 < len(object.Content); i += 2 {
		key, value := object.Content[i], object.Content[i+1]
		if rest, ok := cutName(at.missing, key.Value); ok && s.value(at.below(key, value, key.Value, rest)) {
			return true
		}
	}
	if merges == maxMerges {
		return false
	}
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Tag != "!!merge" {
			continue
		}
		merged := []*yamlv3.Node{object.Content[i+1]}
		if merged[0].Kind == yamlv3.SequenceNode {
			merged = merged[0].Content
		}
		for _, n := range merged {
			from := at
			from.shared = true
			if n.Kind == yamlv3.AliasNode {
				n = n.Alias
			}
			if n.Kind == yamlv3.MappingNode && s.object(from, n, merges+1) {
				return true
			}
		}
	}
	return false
}

func (at place) below(key, value *yamlv3.Node, step any, rest string) place {
	steps := slices.Concat(at.steps, []any{step})
	return place{key: key, value: value, holder: at.value, steps: steps, shared: at.shared, missing: rest}
}

// cutName returns the rest of a path after a name, written as name, .name or [name].
func cutName(path, name string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(path, "["+name+"]"); !ok {
		rest, ok = strings.CutPrefix(strings.TrimPrefix(path, "."), name)
	}
	return rest, ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// cutIndex returns the index at the beginning of a path, and the rest after it.
func cutIndex(path string) (index, rest string, ok bool) {
	if path == "" || path[0] != '[' {
		return "", path, false
	}
	return strings.Cut(path[1:], "]")
}

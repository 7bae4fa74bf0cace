package immutability

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Annotation is the annotation of a CustomResourceDefinition that has its markers as text. A
// server or client that does not know the markers drops them from a schema, but keeps an
// annotation.
//
// The text has one marker per line: the marker and the path of a [Rule]. The line may begin with
// the versions that have the marker. Without them, all versions with the field have it. Empty
// lines and lines that begin with # are ignored.
//
//	immutable spec.size
//	addition-only spec.ports
//	immutable spec.ports[*].name
//	v1,v1beta1: immutable-keys spec.labels
const Annotation = "holdfast.dev/immutability"

// Mark is one line of [Annotation].
type Mark struct {
	// Path is the field, with [*] for every item of a list and * for every value of a map.
	Path   *value.Path
	Marker Marker
	// Versions are the versions that have the marker, nil for all versions with the field.
	Versions []string
}

// words are the markers as they are written in the annotation.
var words = map[string]Marker{
	"immutable": Immutable, "immutable-keys": ImmutableKeys, "addition-only": AdditionOnly, "deletion-only": DeletionOnly,
}

// word returns the marker as it is written in the annotation.
func (m Marker) word() string { return strings.TrimPrefix(m.Keyword(), "x-kubernetes-") }

// String returns the line of the mark.
func (m Mark) String() string {
	line := m.Marker.word() + " " + m.Path.String()
	if len(m.Versions) > 0 {
		line = strings.Join(m.Versions, ",") + ": " + line
	}
	return line
}

// FormatMarks returns the text of the annotation.
func FormatMarks(marks []Mark) string {
	var text strings.Builder
	for _, m := range marks {
		text.WriteString(m.String())
		text.WriteByte('\n')
	}
	return text.String()
}

// ParseMarks reads the text of the annotation. The error names every line that is wrong.
func ParseMarks(text string) ([]Mark, error) {
	var marks []Mark
	var wrong []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		m, err := parseMark(line)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", number, err))
			continue
		}
		marks = append(marks, m)
	}
	return marks, errors.Join(wrong...)
}

func parseMark(line string) (Mark, error) {
	var m Mark
	first, rest, _ := strings.Cut(line, " ")
	if versions, ok := strings.CutSuffix(first, ":"); ok {
		m.Versions = strings.Split(versions, ",")
		if slices.Contains(m.Versions, "") {
			return m, errors.New("a version before the colon is empty")
		}
		first, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	marker, ok := words[first]
	if !ok {
		return m, fmt.Errorf("%q: must be immutable, immutable-keys, addition-only or deletion-only", value.CutBytes(first, maxWord))
	}
	m.Marker = marker
	var err error
	m.Path, err = parseRulePath(strings.TrimSpace(rest))
	return m, err
}

// maxWord is the maximum length of a wrong word in a message.
const maxWord = 40

// In reports whether a version has the marker, if it has the field.
func (m Mark) In(version string) bool {
	return len(m.Versions) == 0 || slices.Contains(m.Versions, version)
}

// Node returns the node for the field of the mark in a schema as JSON decoding gives it, nil if
// the schema does not have the field.
func (m Mark) Node(root map[string]any) map[string]any {
	node := root
	for _, step := range m.Path.Steps() {
		switch step.Kind {
		case value.AnyName:
			node, _ = node["additionalProperties"].(map[string]any)
		case value.AnyItem:
			node, _ = node["items"].(map[string]any)
		default:
			properties, _ := node["properties"].(map[string]any)
			node, _ = properties[step.Name].(map[string]any)
		}
		if node == nil {
			return nil
		}
	}
	return node
}

// Marks returns the markers of the versions of a definition, in the order of the schema. The
// markers must be valid. It returns an error for each marker that the annotation cannot have:
// on patternProperties, on items by position, and on names that are too long to be written.
func Marks(versions []Version) ([]Mark, error) {
	nodes := make([]*schema.Schema, len(versions))
	for i, v := range versions {
		nodes[i] = v.Schema
	}
	var marks []Mark
	var wrong []error
	align(nodes, func(at alignment) {
		for _, marker := range markers {
			with, all := []string(nil), true
			for i, v := range versions {
				if MarkerOf(at.nodes[i]) == marker {
					with = append(with, v.Name)
				} else if at.nodes[i] != nil {
					all = false
				}
			}
			if len(with) == 0 {
				continue
			}
			m := Mark{Path: fieldPath(at.path), Marker: marker, Versions: with}
			if all {
				m.Versions = nil
			}
			if !m.isReadable() {
				wrong = append(wrong, fmt.Errorf("%s: the annotation %s cannot name this field", at.path, Annotation))
				continue
			}
			marks = append(marks, m)
		}
	})
	return marks, errors.Join(wrong...)
}

// isReadable reports whether the line of the mark is read back as the same mark.
func (m Mark) isReadable() bool {
	if m.Path == nil {
		return false
	}
	read, err := parseMark(m.String())
	return err == nil && read.Path.Equal(m.Path)
}

// fieldPath returns the field that a path in a schema describes. It returns nil for a path with
// steps that the path of a rule does not have.
func fieldPath(path *value.Path) *value.Path {
	var field *value.Path
	steps := path.Steps()
	for i := 0; i < len(steps); i++ {
		switch steps[i].Name {
		case "properties":
			i++
			field = field.Append(value.Step{Name: steps[i].Name})
		case "additionalProperties":
			field = field.Append(value.Step{Kind: value.AnyName})
		case "items":
			if i+1 < len(steps) && steps[i+1].Kind == value.Index {
				return nil
			}
			field = field.Append(value.Step{Kind: value.AnyItem})
		default:
			return nil
		}
	}
	return field
}

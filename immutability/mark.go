package immutability

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Annotation is the annotation of a CustomResourceDefinition that has rules as text. A
// server or client that does not know the markers refuses or drops them in a schema, but keeps
// an annotation.
//
// The text has one rule per line, see [Mark]. Empty lines and lines that begin with # are
// ignored.
//
//	immutable spec.size
//	addition-only spec.ports
//	v1,v1beta1: immutable-keys spec.labels
//	set-once spec.zone unless move
//	immutable spec.size while oldSelf.status.phase == "Ready"
//	immutable metadata.labels["team"]
//	no-delete while has(oldSelf.status)
const Annotation = "holdfast.dev/immutability"

// Mark is one rule of [Annotation]: a marker and the path of a [Rule], or no-delete. It may begin with the versions
// that have it, and end with who may break it and when it holds:
//
//	VERSION,VERSION: MARKER PATH unless VERB while EXPRESSION
type Mark struct {
	// Path is the field, with [*] for every item of a list and * for every value of a map. It is nil for no-delete.
	Path *value.Path
	// Marker says what may not change. It is Free for no-delete.
	Marker Marker
	// Versions are the versions that have the marker, nil for all versions with the field.
	Versions []string
	// Unless is the verb that a user needs for a write that breaks the rule, empty if nobody may.
	Unless string
	// While is a CEL expression about oldSelf, the stored object. The rule holds while it is true. It is empty for a rule
	// that always holds.
	While string
}

// noDelete is the word for the rule that an object may not be deleted.
const noDelete = "no-delete"

// IsNoDelete reports whether the rule is about the deletion of the object.
func (m Mark) IsNoDelete() bool { return m.Path == nil && m.Marker == Free }

// IsConditional reports whether some writes that the marker forbids are allowed.
func (m Mark) IsConditional() bool { return m.Unless != "" || m.While != "" }

// metadata returns the map of the metadata that the rule is about, labels or annotations, or the empty string.
func (m Mark) metadata() string {
	steps := m.Path.Steps()
	if len(steps) < 2 || steps[0].Name != "metadata" {
		return ""
	}
	return steps[1].Name
}

// IsMetadata reports whether the rule is about labels or annotations.
func (m Mark) IsMetadata() bool { return m.metadata() != "" }

// Covers reports whether m forbids everything that other forbids: it is about the same field, always holds, and counts in the
// same versions.
func (m Mark) Covers(other Mark) bool {
	return m.IsNoDelete() == other.IsNoDelete() && m.Path.Equal(other.Path) && m.Marker.Covers(other.Marker) &&
		(!m.IsConditional() || m.Unless == other.Unless && m.While == other.While) &&
		(len(m.Versions) == 0 || slices.Equal(m.Versions, other.Versions))
}

// String returns the line of the mark.
func (m Mark) String() string {
	line := noDelete
	if !m.IsNoDelete() {
		line = m.Marker.Word() + " " + m.Path.String()
	}
	if len(m.Versions) > 0 {
		line = strings.Join(m.Versions, ",") + ": " + line
	}
	if m.Unless != "" {
		line += " unless " + m.Unless
	}
	if m.While != "" {
		line += " while " + m.While
	}
	return line
}

// Sentence says the rule to a reader of the field's description: May be set once.
func (m Mark) Sentence() string {
	text := "Cannot be deleted"
	if !m.IsNoDelete() {
		text = m.Marker.sentence()
	}
	if m.While != "" {
		text += " while " + m.While
	}
	text += "."
	if m.Unless != "" {
		text += " Only with the right to " + m.Unless + "."
	}
	return text
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
		var seen []Marker
		for i := range versions {
			marker := MarkerOf(at.nodes[i])
			if marker == Free || slices.Contains(seen, marker) {
				continue
			}
			seen = append(seen, marker)
			m := Mark{Path: fieldPath(at.path), Marker: marker, Versions: versionsWith(at, versions, marker)}
			if !m.isReadable() {
				wrong = append(wrong, fmt.Errorf("%s: the annotation %s cannot name this field", at.path, Annotation))
				continue
			}
			marks = append(marks, m)
		}
	})
	return marks, errors.Join(wrong...)
}

// versionsWith returns the versions that have a marker at a path, nil if all versions with the field have it.
func versionsWith(at alignment, versions []Version, marker Marker) []string {
	var with []string
	all := true
	for i, v := range versions {
		if MarkerOf(at.nodes[i]) == marker {
			with = append(with, v.Name)
		} else if at.nodes[i] != nil {
			all = false
		}
	}
	if all {
		return nil
	}
	return with
}

// isReadable reports whether the line of the mark is read back as the same mark.
func (m Mark) isReadable() bool {
	if m.Path == nil {
		return false
	}
	read, err := ParseMark(m.String())
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

package immutability

import (
	"slices"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Marked is a schema with the marks of one version.
type Marked struct {
	// Schema has the marks without a condition, as markers.
	Schema *schema.Schema
	// Layers are the marks that are judged by themselves: those with a condition, those about metadata, and those on a node that
	// has another marker.
	Layers []Mark
	// Unknown are the marks about fields that the schema does not have.
	Unknown []Mark
}

// AddMarks adds the marks that count in a version to its schema, which it changes. The schema may be nil.
func AddMarks(s *schema.Schema, version string, marks []Mark) Marked {
	out := Marked{Schema: s}
	for _, m := range marks {
		switch {
		case !m.In(version) || m.IsNoDelete():
		case m.metadata() != "":
			out.Layers = append(out.Layers, m)
		case m.node(s) == nil:
			out.Unknown = append(out.Unknown, m)
		default:
			if node := m.node(s); m.IsConditional() || MarkerOf(node) != Free && MarkerOf(node) != m.Marker {
				out.Layers = append(out.Layers, m)
			} else {
				m.Marker.set(node)
			}
		}
	}
	return out
}

// AddTo puts the marker on the node for its field in a schema, which it changes. It reports whether
// the schema has the field.
func (m Mark) AddTo(s *schema.Schema) bool {
	node := m.node(s)
	if node == nil {
		return false
	}
	m.Marker.set(node)
	return true
}

// SchemaNode returns the node for the field of the mark, nil if the schema does not have the field, or if the mark is about metadata
// or deletion.
func (m Mark) SchemaNode(s *schema.Schema) *schema.Schema {
	if m.IsNoDelete() || m.metadata() != "" {
		return nil
	}
	return m.node(s)
}

// node returns the node for the field of the mark, nil if the schema does not have the field.
func (m Mark) node(s *schema.Schema) *schema.Schema {
	node := s
	for _, step := range m.Path.Steps() {
		node = below(node, step)
	}
	return node
}

// CoveredBy reports whether the markers of a schema forbid everything that the mark forbids.
func (m Mark) CoveredBy(s *schema.Schema) bool {
	if m.SchemaNode(s) == nil {
		return false
	}
	node := s
	for _, step := range m.Path.Steps() {
		if node = below(node, step); MarkerOf(node) == Immutable {
			return true
		}
	}
	return MarkerOf(node).Covers(m.Marker)
}

// below returns the node of a step, nil if there is none. The node above it may be nil.
func below(node *schema.Schema, step value.Step) *schema.Schema {
	if node == nil {
		return nil
	}
	switch step.Kind {
	case value.AnyName:
		return valuesOf(node)
	case value.AnyItem:
		return node.Items
	}
	return node.Properties[step.Name]
}

// Validate returns an error for each reason why a schema cannot have the mark, and none if it does not have the field. The schema
// has the marks of AddMarks. Paths begin at the schema.
func (m Mark) Validate(s *schema.Schema) schema.Errors {
	node := m.node(s)
	if m.IsNoDelete() || m.metadata() != "" || node == nil {
		return nil
	}
	var v validator
	schema.Walk(s, func(at *schema.Visit) bool {
		if at.Schema == node {
			v.place(at, m.Marker)
		}
		return true
	})
	v.errors.Sort()
	return v.errors
}

// InvalidMarks returns the marks that Validate refuses in a schema.
func InvalidMarks(s *schema.Schema, marks []Mark) []Mark {
	return slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool { return len(m.Validate(s)) == 0 })
}

// valuesOf returns the schema of the values of a map, nil if it has none.
func valuesOf(s *schema.Schema) *schema.Schema {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

package immutability

import (
	"slices"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// AddTo puts the marker on the node for its field in a schema, which it changes. It reports whether
// the schema has the field.
func (m Mark) AddTo(s *schema.Schema) bool {
	node := s
	for _, step := range m.Path.Steps() {
		if node == nil {
			return false
		}
		switch step.Kind {
		case value.AnyName:
			node = valuesOf(node)
		case value.AnyItem:
			node = node.Items
		default:
			node = node.Properties[step.Name]
		}
	}
	if node == nil {
		return false
	}
	m.Marker.set(node)
	return true
}

// InvalidMarks returns the marks whose markers Validate refuses in a schema to which AddTo has added them.
func InvalidMarks(s *schema.Schema, marks []Mark) []Mark {
	refused := map[string]bool{}
	for _, e := range Validate(s) {
		refused[e.Path.Last().Name+" "+Field(e.Path.Parent())] = true
	}
	return slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool { return !refused[m.Marker.Keyword()+" "+m.Path.String()] })
}

// valuesOf returns the schema of the values of a map, nil if it has none.
func valuesOf(s *schema.Schema) *schema.Schema {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

// set puts the marker on a node.
func (m Marker) set(s *schema.Schema) {
	switch m {
	case Immutable:
		s.Immutable = new(true)
	case ImmutableKeys:
		s.ImmutableKeys = new(true)
	case AdditionOnly:
		s.AdditionOnly = new(true)
	case DeletionOnly:
		s.DeletionOnly = new(true)
	}
}

package definition

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiserver/pkg/cel/common"
)

// shape is a structural schema by which an object is tied to its old self.
// Upstream's own makes all the children of a node each time it is asked for one.
type shape struct {
	common.Schema
	properties map[string]common.Schema
	additional common.SchemaOrBool
	items      common.Schema
}

func newShape(s *structuralschema.Structural) common.Schema {
	out := &shape{Schema: &model.Structural{Structural: s}}
	if len(s.Properties) > 0 {
		out.properties = make(map[string]common.Schema, len(s.Properties))
	}
	for name := range s.Properties {
		child := s.Properties[name]
		out.properties[name] = newShape(&child)
	}
	if s.Items != nil {
		out.items = newShape(s.Items)
	}
	if s.AdditionalProperties != nil {
		values := &shapeOrBool{allows: s.AdditionalProperties.Bool}
		if s.AdditionalProperties.Structural != nil {
			values.shape = newShape(s.AdditionalProperties.Structural)
		}
		out.additional = values
	}
	return out
}

// Properties implements common.Schema.
func (s *shape) Properties() map[string]common.Schema { return s.properties }

// AdditionalProperties implements common.Schema.
func (s *shape) AdditionalProperties() common.SchemaOrBool { return s.additional }

// Items implements common.Schema.
func (s *shape) Items() common.Schema { return s.items }

// shapeOrBool is what a schema says of further properties.
type shapeOrBool struct {
	shape  common.Schema
	allows bool
}

// Schema implements common.SchemaOrBool.
func (s *shapeOrBool) Schema() common.Schema { return s.shape }

// Allows implements common.SchemaOrBool.
func (s *shapeOrBool) Allows() bool { return s.allows }

package definition

import (
	"sync"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiserver/pkg/cel/common"
)

// correlationSchema is a structural schema in the form that upstream's
// CorrelatedObject needs to pair values of an old and a new object. Upstream's
// model.Structural builds all children of a node for every call that asks for
// one of them; correlationSchema builds them once, when the first value of the node
// needs them: a large schema has many fields that no object sets.
type correlationSchema struct {
	common.Schema
	structural *structuralschema.Structural
	once       sync.Once
	// build sets the following fields.
	properties map[string]common.Schema
	additional common.SchemaOrBool
	items      common.Schema
}

func newCorrelationSchema(s *structuralschema.Structural) common.Schema {
	return &correlationSchema{Schema: &model.Structural{Structural: s}, structural: s}
}

// children builds the children once.
func (s *correlationSchema) children() *correlationSchema {
	s.once.Do(s.build)
	return s
}

func (s *correlationSchema) build() {
	in := s.structural
	if len(in.Properties) > 0 {
		s.properties = make(map[string]common.Schema, len(in.Properties))
	}
	for name := range in.Properties {
		child := in.Properties[name]
		s.properties[name] = newCorrelationSchema(&child)
	}
	if in.Items != nil {
		s.items = newCorrelationSchema(in.Items)
	}
	if in.AdditionalProperties != nil {
		values := &schemaOrBool{allows: in.AdditionalProperties.Bool}
		if in.AdditionalProperties.Structural != nil {
			values.schema = newCorrelationSchema(in.AdditionalProperties.Structural)
		}
		s.additional = values
	}
}

// Properties implements common.Schema.
func (s *correlationSchema) Properties() map[string]common.Schema { return s.children().properties }

// AdditionalProperties implements common.Schema.
func (s *correlationSchema) AdditionalProperties() common.SchemaOrBool {
	return s.children().additional
}

// Items implements common.Schema.
func (s *correlationSchema) Items() common.Schema { return s.children().items }

// schemaOrBool is the value of additionalProperties.
type schemaOrBool struct {
	schema common.Schema
	allows bool
}

// Schema implements common.SchemaOrBool.
func (s *schemaOrBool) Schema() common.Schema { return s.schema }

// Allows implements common.SchemaOrBool.
func (s *schemaOrBool) Allows() bool { return s.allows }

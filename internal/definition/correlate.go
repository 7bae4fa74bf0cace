package definition

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiserver/pkg/cel/common"
)

// correlationSchema is a structural schema in the form that upstream's
// CorrelatedObject needs to pair values of an old and a new object. Upstream's
// model.Structural builds all children of a node for every call that asks for
// one of them; correlationSchema builds them once.
type correlationSchema struct {
	common.Schema
	properties map[string]common.Schema
	additional common.SchemaOrBool
	items      common.Schema
}

func newCorrelationSchema(s *structuralschema.Structural) common.Schema {
	out := &correlationSchema{Schema: &model.Structural{Structural: s}}
	if len(s.Properties) > 0 {
		out.properties = make(map[string]common.Schema, len(s.Properties))
	}
	for name := range s.Properties {
		child := s.Properties[name]
		out.properties[name] = newCorrelationSchema(&child)
	}
	if s.Items != nil {
		out.items = newCorrelationSchema(s.Items)
	}
	if s.AdditionalProperties != nil {
		values := &schemaOrBool{allows: s.AdditionalProperties.Bool}
		if s.AdditionalProperties.Structural != nil {
			values.schema = newCorrelationSchema(s.AdditionalProperties.Structural)
		}
		out.additional = values
	}
	return out
}

// Properties implements common.Schema.
func (s *correlationSchema) Properties() map[string]common.Schema { return s.properties }

// AdditionalProperties implements common.Schema.
func (s *correlationSchema) AdditionalProperties() common.SchemaOrBool { return s.additional }

// Items implements common.Schema.
func (s *correlationSchema) Items() common.Schema { return s.items }

// schemaOrBool is the value of additionalProperties.
type schemaOrBool struct {
	schema common.Schema
	allows bool
}

// Schema implements common.SchemaOrBool.
func (s *schemaOrBool) Schema() common.Schema { return s.schema }

// Allows implements common.SchemaOrBool.
func (s *schemaOrBool) Allows() bool { return s.allows }

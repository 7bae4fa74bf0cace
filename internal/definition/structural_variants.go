package definition

import "holdfast.dev/holdfast/schema"

// withAtomicSets returns a schema in structural form in which sets of objects
// and sets of lists are atomic. changed is false, and out is s, if s has no such
// set. out shares nodes with s.
func withAtomicSets(s *schema.Schema) (out *schema.Schema, changed bool) {
	copied := *s
	if s.ListType == "set" && s.Items != nil {
		switch s.Items.Type {
		case "string", "integer", "number", "boolean":
		default:
			copied.ListType, changed = "atomic", true
		}
	}
	if len(s.Properties) > 0 {
		copied.Properties = make(map[string]*schema.Schema, len(s.Properties))
		for name, child := range s.Properties {
			var other bool
			copied.Properties[name], other = withAtomicSets(child)
			changed = changed || other
		}
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		values, other := withAtomicSets(a.Schema)
		copied.AdditionalProperties = &schema.SchemaOrBool{Schema: values, Allows: true}
		changed = changed || other
	}
	if s.Items != nil {
		var other bool
		copied.Items, other = withAtomicSets(s.Items)
		changed = changed || other
	}
	if !changed {
		return s, false
	}
	return &copied, true
}

// withoutAdditionalPropertiesFalse returns s without the keywords
// additionalProperties: false that pruning makes superfluous: beside properties,
// and on a Kubernetes object. It keeps them inside of logic, where they make a
// branch match or not. The result shares nodes with s.
func withoutAdditionalPropertiesFalse(s *schema.Schema) *schema.Schema {
	out := dropFalse(s)
	if a := out.AdditionalProperties; a != nil && !a.Allows {
		copied := *out
		copied.AdditionalProperties = nil
		return &copied
	}
	return out
}

func dropFalse(s *schema.Schema) *schema.Schema {
	if s == nil {
		return nil
	}
	out := *s
	if a := s.AdditionalProperties; a != nil && !a.Allows && (len(s.Properties) > 0 || s.EmbeddedResource) {
		out.AdditionalProperties = nil
	} else if a != nil && a.Schema != nil {
		out.AdditionalProperties = &schema.SchemaOrBool{Schema: dropFalse(a.Schema), Allows: true}
	}
	out.Properties = dropFalseIn(s.Properties)
	out.PatternProperties = dropFalseIn(s.PatternProperties)
	out.Items = dropFalse(s.Items)
	if s.Tuple != nil {
		out.Tuple = make([]*schema.Schema, len(s.Tuple))
		for i, item := range s.Tuple {
			out.Tuple[i] = dropFalse(item)
		}
	}
	return &out
}

func dropFalseIn(in map[string]*schema.Schema) map[string]*schema.Schema {
	if in == nil {
		return nil
	}
	out := make(map[string]*schema.Schema, len(in))
	for name, s := range in {
		out[name] = dropFalse(s)
	}
	return out
}

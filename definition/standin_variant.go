package definition

import "holdfast.dev/holdfast/schema"

// withAtomicSets is a stand-in in which sets of objects or lists are atomic, and
// whether that is any other than shape, which it shares nodes with.
func withAtomicSets(shape *schema.Schema) (out *schema.Schema, changed bool) {
	copied := *shape
	if shape.ListType == "set" && shape.Items != nil {
		switch shape.Items.Type {
		case "string", "integer", "number", "boolean":
		default:
			copied.ListType, changed = "atomic", true
		}
	}
	if len(shape.Properties) > 0 {
		copied.Properties = make(map[string]*schema.Schema, len(shape.Properties))
		for name, child := range shape.Properties {
			var other bool
			copied.Properties[name], other = withAtomicSets(child)
			changed = changed || other
		}
	}
	if a := shape.AdditionalProperties; a != nil && a.Schema != nil {
		values, other := withAtomicSets(a.Schema)
		copied.AdditionalProperties = &schema.SchemaOrBool{Schema: values, Allows: true}
		changed = changed || other
	}
	if shape.Items != nil {
		var other bool
		copied.Items, other = withAtomicSets(shape.Items)
		changed = changed || other
	}
	if !changed {
		return shape, false
	}
	return &copied, true
}

// withoutFalse is s without additionalProperties: false where it says nothing
// that pruning does not see to: beside properties, and on what is a Kubernetes
// object. Inside of logic it tells branches apart and stays. It shares nodes
// with s.
func withoutFalse(s *schema.Schema) *schema.Schema {
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

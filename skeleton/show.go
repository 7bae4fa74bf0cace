package skeleton

import "holdfast.dev/holdfast/schema"

// Schema shows the skeleton as a schema of its own: the types, the structure,
// nullable, and the extensions that steer structure. A type is shown also where
// it does not bind. Building the schema that is returned gives this skeleton's
// schema again.
func (sk *Skeleton) Schema() *schema.Schema { return sk.shape.show() }

func (s *shape) show() *schema.Schema {
	if s == nil {
		return nil
	}
	out := &schema.Schema{
		Type:              s.typ,
		Nullable:          s.nullable,
		Properties:        showAll(s.properties),
		PatternProperties: showAll(s.patterns),
		Items:             s.items.show(),
	}
	out.AdditionalProperties = showOrBool(s.additional, s.anyKey)
	for _, item := range s.tuple {
		out.Tuple = append(out.Tuple, item.show())
	}
	out.AdditionalItems = showOrBool(s.rest, s.anyRest)
	if s.spine != nil {
		s.showExtensions(out)
	}
	return out
}

func (s *shape) showExtensions(out *schema.Schema) {
	yes := true
	if schema.IsTrue(s.spine.NoPrune) {
		out.NoPrune = &yes
	}
	if schema.IsTrue(s.spine.PreserveUnknownFields) {
		out.PreserveUnknownFields = &yes
	}
	out.EmbeddedResource = s.spine.EmbeddedResource
	out.IntOrString = s.spine.IntOrString
	out.ListType = s.spine.ListType
	if len(s.spine.ListMapKeys) > 0 {
		out.ListMapKeys = append([]string(nil), s.spine.ListMapKeys...)
	}
	out.MapType = s.spine.MapType
}

func showAll(shapes map[string]*shape) map[string]*schema.Schema {
	if len(shapes) == 0 {
		return nil
	}
	out := make(map[string]*schema.Schema, len(shapes))
	for name, s := range shapes {
		out[name] = s.show()
	}
	return out
}

func showOrBool(s *shape, asTrue bool) *schema.SchemaOrBool {
	switch {
	case s == nil:
		return nil
	case asTrue:
		return &schema.SchemaOrBool{Allows: true}
	}
	return &schema.SchemaOrBool{Schema: s.show(), Allows: true}
}

package definition

import (
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// renderer converts schemas to OpenAPI.
type renderer struct {
	v2         bool
	objectMeta string // the reference to the schema of ObjectMeta
}

// ruleOf returns the text with which the description of a field with a marker begins.
func ruleOf(s *schema.Schema) string {
	if m := immutability.MarkerOf(s); m != immutability.Free {
		return immutability.Mark{Marker: m}.Sentence() + " "
	}
	return ""
}

// describeLayers adds the rules that no marker of the schema can say to the descriptions of their fields. Rules about metadata and about
// the deletion of objects are in the description of the kind.
func describeLayers(marked immutability.Marked, noDelete []immutability.Mark) {
	for _, m := range slices.Concat(marked.Layers, noDelete) {
		node, text := m.SchemaNode(marked.Schema), m.Sentence()
		if node == nil {
			node = marked.Schema
			if m.Path != nil {
				text = m.Path.String() + ": " + text
			}
		}
		node.Description = text + " " + node.Description
	}
}

func (r renderer) render(s *schema.Schema) *spec.Schema {
	if s == nil {
		return nil
	}
	out := &spec.Schema{SchemaProps: spec.SchemaProps{
		Description: ruleOf(s) + s.Description,
		Title:       s.Title,
		Nullable:    s.Nullable,
		Format:      s.Format,
		Enum:        s.Enum,
		Maximum:     number(s.Maximum), ExclusiveMaximum: s.ExclusiveMaximum,
		Minimum: number(s.Minimum), ExclusiveMinimum: s.ExclusiveMinimum,
		MultipleOf: number(s.MultipleOf),
		MaxLength:  s.MaxLength, MinLength: s.MinLength,
		MaxItems: s.MaxItems, MinItems: s.MinItems,
		MaxProperties: s.MaxProperties, MinProperties: s.MinProperties,
		Pattern:  s.Pattern,
		Required: slices.Clone(s.Required),
	}}
	if !r.v2 {
		out.Default = s.Default
	}
	out.Example = s.Example
	if s.ExternalDocs != nil {
		out.ExternalDocs = &spec.ExternalDocumentation{Description: s.ExternalDocs.Description, URL: s.ExternalDocs.URL}
	}
	if s.Type != "" {
		out.Type = spec.StringOrArray{s.Type}
	}
	extend(out, s)
	r.children(out, s)
	if r.v2 {
		simplify(out, s)
	} else {
		r.logic(out, s)
	}
	if s.EmbeddedResource && !(r.v2 && preservesUnknown(s)) {
		r.addEmbeddedFields(out)
	}
	return out
}

func (r renderer) children(out *spec.Schema, s *schema.Schema) {
	if len(s.Properties) > 0 {
		out.Properties = make(map[string]spec.Schema, len(s.Properties))
	}
	for name, child := range s.Properties {
		out.Properties[name] = *r.render(child)
	}
	if a := s.AdditionalProperties; a != nil && a.Allows {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: r.render(a.Schema)}
	}
	// Items by position, which only logic can still contain here, are omitted:
	// OpenAPI has no keyword for them.
	if s.Items != nil {
		out.Items = &spec.SchemaOrArray{Schema: r.render(s.Items)}
	}
}

// logic adds the keywords that only OpenAPI v3 has.
func (r renderer) logic(out *spec.Schema, s *schema.Schema) {
	each := func(in []*schema.Schema) []spec.Schema {
		var all []spec.Schema
		for _, child := range in {
			all = append(all, *r.render(child))
		}
		return all
	}
	out.AllOf, out.AnyOf, out.OneOf, out.Not = each(s.AllOf), each(s.AnyOf), each(s.OneOf), r.render(s.Not)
	if !s.IntOrString || isIntOrString(s.AnyOf) || len(s.AllOf) > 0 && isIntOrString(s.AllOf[0].AnyOf) {
		return
	}
	// As upstream does, add the meaning of the extension in standard keywords.
	choice := []spec.Schema{*spec.Int64Property(), *spec.StringProperty()}
	choice[0].Format = ""
	if out.AnyOf == nil {
		out.AnyOf = choice
	} else {
		out.AllOf = append([]spec.Schema{{SchemaProps: spec.SchemaProps{AnyOf: choice}}}, out.AllOf...)
	}
}

func isIntOrString(branches []*schema.Schema) bool {
	return len(branches) == 2 && branches[0].Type == "integer" && branches[1].Type == "string"
}

func preservesUnknown(s *schema.Schema) bool { return schema.IsTrue(s.PreserveUnknownFields) }

// simplify omits what OpenAPI v2 does not have and what kubectl cannot read in
// it, as upstream does.
func simplify(out *spec.Schema, s *schema.Schema) {
	for name, child := range s.Properties {
		if child.Nullable {
			out.Required = slices.DeleteFunc(out.Required, func(required string) bool { return required == name })
		}
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil && a.Schema.Nullable {
		out.Required = nil
	}
	out.Nullable = false
	if s.Nullable || preservesUnknown(s) {
		out.Items, out.Properties = nil, nil
	}
	if s.Nullable || preservesUnknown(s) && s.Type == "object" || out.Items == nil && s.Type == "array" {
		out.Type = nil
	}
}

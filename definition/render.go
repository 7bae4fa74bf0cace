package definition

import (
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// renderer writes schemas as OpenAPI.
type renderer struct {
	v2         bool
	objectMeta string // where ObjectMeta is described
}

// prefixes are what the description of a marked field begins with.
var prefixes = map[immutability.Marker]string{
	immutability.Immutable:     "Immutable. ",
	immutability.ImmutableKeys: "Keys are immutable. ",
	immutability.AdditionOnly:  "Addition only. ",
	immutability.DeletionOnly:  "Deletion only. ",
}

func (r renderer) render(s *schema.Schema) *spec.Schema {
	if s == nil {
		return nil
	}
	out := &spec.Schema{SchemaProps: spec.SchemaProps{
		Description: prefixes[immutability.MarkerOf(s)] + s.Description,
		Title:       s.Title,
		Nullable:    s.Nullable,
		Format:      s.Format,
		Default:     s.Default,
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
	if s.EmbeddedResource && !(r.v2 && keepsUnknown(s)) {
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
	// Logic may hold items by position, which OpenAPI has no word for.
	if s.Items != nil {
		out.Items = &spec.SchemaOrArray{Schema: r.render(s.Items)}
	}
}

// logic adds what only version 3 can say.
func (r renderer) logic(out *spec.Schema, s *schema.Schema) {
	each := func(in []*schema.Schema) []spec.Schema {
		var all []spec.Schema
		for _, child := range in {
			all = append(all, *r.render(child))
		}
		return all
	}
	out.AllOf, out.AnyOf, out.OneOf, out.Not = each(s.AllOf), each(s.AnyOf), each(s.OneOf), r.render(s.Not)
	if !s.IntOrString || saysIntOrString(s.AnyOf) || len(s.AllOf) > 0 && saysIntOrString(s.AllOf[0].AnyOf) {
		return
	}
	// Upstream spells out what the extension means.
	choice := []spec.Schema{*spec.Int64Property(), *spec.StringProperty()}
	choice[0].Format = ""
	if out.AnyOf == nil {
		out.AnyOf = choice
	} else {
		out.AllOf = append([]spec.Schema{{SchemaProps: spec.SchemaProps{AnyOf: choice}}}, out.AllOf...)
	}
}

func saysIntOrString(branches []*schema.Schema) bool {
	return len(branches) == 2 && branches[0].Type == "integer" && branches[1].Type == "string"
}

func keepsUnknown(s *schema.Schema) bool { return schema.IsTrue(s.PreserveUnknownFields) }

// simplify leaves out what version 2 does not know and what kubectl cannot read
// in it, as upstream does.
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
	if s.Nullable || keepsUnknown(s) {
		out.Items, out.Properties = nil, nil
	}
	if s.Nullable || keepsUnknown(s) && s.Type == "object" || out.Items == nil && s.Type == "array" {
		out.Type = nil
	}
}

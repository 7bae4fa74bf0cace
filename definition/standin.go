package definition

import (
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// standIn is a structural schema for the shape of s, for upstream's libraries,
// which take no other. Every place of the skeleton is in it, with the type that
// binds there and with what s says about the place outside of logic.
//
// A place without a type that binds is one that may hold anything, which
// structural schemas spell x-kubernetes-preserve-unknown-fields. A nil schema
// has a stand-in that may hold anything.
func standIn(s *schema.Schema, sk *skeleton.Skeleton) *schema.Schema {
	if s == nil {
		return &schema.Schema{Type: "object", PreserveUnknownFields: new(true)}
	}
	b := standInBuilder{}
	out := b.node(s, sk.Binding())
	if out.Type == "" && s.PreserveUnknownFields == nil && s.NoPrune == nil {
		out.PreserveUnknownFields = nil
	}
	// Every custom resource is an object; a schema that says otherwise is
	// refused by package skeleton.
	out.Type, out.Nullable, out.Validations = "object", false, s.Validations
	b.meta(out, s)
	return out
}

type standInBuilder struct {
	// verbatim is true below x-kubernetes-no-prune, where every object keeps
	// what it holds.
	verbatim bool
}

// node is the stand-in for one place: s is what the schema says there outside
// of logic, nil for a place that only logic names, and shape is the place in
// the skeleton.
func (b standInBuilder) node(s, shape *schema.Schema) *schema.Schema {
	out := &schema.Schema{}
	if s != nil {
		b.verbatim = b.verbatim || schema.IsTrue(s.NoPrune)
		say(out, s)
	}
	out.Type, out.Nullable = shape.Type, shape.Nullable
	out.EmbeddedResource, out.IntOrString = shape.EmbeddedResource, shape.IntOrString
	out.ListType, out.MapType, out.ListMapKeys = shape.ListType, shape.MapType, shape.ListMapKeys
	if schema.IsTrue(shape.PreserveUnknownFields) {
		out.PreserveUnknownFields = new(true)
	}
	b.properties(out, s, shape)
	b.values(out, s, shape)
	b.items(out, s, shape)
	if out.EmbeddedResource {
		if out.Type == "" {
			out.Type = "object"
		}
		b.meta(out, s)
	}
	if !out.IntOrString && (out.Type == "" || b.verbatim && out.Type == "object" && out.AdditionalProperties == nil) {
		out.PreserveUnknownFields = new(true)
	}
	if out.Type == "" && !out.IntOrString {
		// CEL knows no values without a type, see validateRulePlaces.
		out.Validations = nil
	}
	return out
}

// say copies what s says about the values of its place, without what package
// skeleton judges (so that nothing is reported twice) and without logic.
func say(out, s *schema.Schema) {
	*out = *s
	out.Properties, out.PatternProperties, out.AdditionalProperties = nil, nil, nil
	out.Items, out.Tuple, out.AdditionalItems = nil, nil, nil
	out.AllOf, out.AnyOf, out.OneOf, out.Not = nil, nil, nil, nil
	out.PreserveUnknownFields, out.NoPrune = nil, nil
	out.ID, out.SchemaURL, out.Ref, out.Definitions, out.Dependencies = "", "", nil, nil, nil
	out.UniqueItems = false
	if _, err := regexp.Compile(s.Pattern); err != nil {
		out.Pattern = ""
	}
	out.Blank = 0
}

func (b standInBuilder) properties(out, s, shape *schema.Schema) {
	if len(shape.Properties) == 0 {
		return
	}
	out.Properties = make(map[string]*schema.Schema, len(shape.Properties))
	for name, place := range shape.Properties {
		var said *schema.Schema
		if s != nil {
			said = s.Properties[name]
		}
		out.Properties[name] = b.node(said, place)
	}
}

// values is the stand-in for the values of a map. Several patterns, or patterns
// beside additionalProperties, become one that may hold anything.
func (b standInBuilder) values(out, s, shape *schema.Schema) {
	if len(shape.Properties) > 0 {
		return
	}
	patterns := slices.Sorted(maps.Keys(shape.PatternProperties))
	additional := shape.AdditionalProperties
	switch {
	case len(patterns) == 0 && additional == nil:
	case len(patterns) == 0 && additional.Schema == nil:
		out.AdditionalProperties = &schema.SchemaOrBool{Allows: true}
	case len(patterns) == 0:
		var said *schema.Schema
		if s != nil && s.AdditionalProperties != nil {
			said = s.AdditionalProperties.Schema
		}
		out.AdditionalProperties = &schema.SchemaOrBool{Schema: b.node(said, additional.Schema), Allows: true}
	case len(patterns) == 1 && additional == nil:
		var said *schema.Schema
		if s != nil {
			said = s.PatternProperties[patterns[0]]
		}
		out.AdditionalProperties = &schema.SchemaOrBool{Schema: b.node(said, shape.PatternProperties[patterns[0]]), Allows: true}
	default:
		out.AdditionalProperties = &schema.SchemaOrBool{Schema: anything(), Allows: true}
	}
}

// items is the stand-in for the items of a list. Items by position become items
// that may be anything.
func (b standInBuilder) items(out, s, shape *schema.Schema) {
	switch {
	case shape.Items != nil && len(shape.Tuple) == 0:
		var said *schema.Schema
		if s != nil {
			said = s.Items
		}
		out.Items = b.node(said, shape.Items)
	case shape.Items != nil, len(shape.Tuple) > 0, shape.AdditionalItems != nil, out.Type == "array":
		out.Items = anything()
	}
}

func anything() *schema.Schema { return &schema.Schema{PreserveUnknownFields: new(true)} }

// meta makes the fields that every Kubernetes object has what upstream demands:
// Kubernetes knows them, so only what the schema itself says is left.
func (b standInBuilder) meta(out, s *schema.Schema) {
	for name, kind := range map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"} {
		if out.Properties[name] == nil {
			continue
		}
		if s == nil || s.Properties[name] == nil {
			delete(out.Properties, name)
			continue
		}
		said := *s.Properties[name]
		said.AllOf, said.AnyOf, said.OneOf, said.Not = nil, nil, nil, nil
		place := standInBuilder{}.node(&said, skeleton.Build(&schema.Schema{Properties: map[string]*schema.Schema{name: &said}}).Binding().Properties[name])
		if place.Type == "" {
			place.Type, place.PreserveUnknownFields = kind, nil
		}
		out.Properties[name] = place
	}
}

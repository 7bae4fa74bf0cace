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
	return standInBuilder{}.build(s, sk)
}

type standInBuilder struct {
	// verbatim is true below x-kubernetes-no-prune, where every object keeps
	// what it holds.
	verbatim bool
	// published is true for a stand-in that people read: logic stays beside the
	// shape, and places without a type are not called open.
	published bool
}

func (b standInBuilder) build(s *schema.Schema, sk *skeleton.Skeleton) *schema.Schema {
	if s == nil {
		return &schema.Schema{Type: "object", PreserveUnknownFields: new(true)}
	}
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

// node is the stand-in for one place: s is what the schema says there outside
// of logic, nil for a place that only logic names, and shape is the place in
// the skeleton.
func (b standInBuilder) node(s, shape *schema.Schema) *schema.Schema {
	out := &schema.Schema{}
	if s != nil {
		b.verbatim = b.verbatim || schema.IsTrue(s.NoPrune)
		b.say(out, s)
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
	untyped := out.Type == ""
	if !out.IntOrString && (untyped && !b.published || b.verbatim && (untyped || out.Type == "object" && out.AdditionalProperties == nil)) {
		out.PreserveUnknownFields = new(true)
	}
	if out.Type == "" && !out.IntOrString && !b.published {
		// CEL knows no values without a type, see validateRulePlaces.
		out.Validations = nil
	}
	return out
}

// say copies what s says about the values of its place, without what package
// skeleton judges (so that nothing is reported twice) and without logic.
func (b standInBuilder) say(out, s *schema.Schema) {
	*out = *s
	out.Properties, out.PatternProperties, out.AdditionalProperties = nil, nil, nil
	out.Items, out.Tuple, out.AdditionalItems = nil, nil, nil
	if !b.published {
		out.AllOf, out.AnyOf, out.OneOf, out.Not = nil, nil, nil, nil
	}
	out.PreserveUnknownFields = nil
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
// beside additionalProperties, become one that may hold any of them.
func (b standInBuilder) values(out, s, shape *schema.Schema) {
	if len(shape.Properties) > 0 {
		return
	}
	if s == nil {
		s = &schema.Schema{}
	}
	var values []*schema.Schema
	for _, pattern := range slices.Sorted(maps.Keys(shape.PatternProperties)) {
		values = append(values, b.node(s.PatternProperties[pattern], shape.PatternProperties[pattern]))
	}
	if a := shape.AdditionalProperties; a != nil && a.Schema != nil {
		var said *schema.Schema
		if s.AdditionalProperties != nil {
			said = s.AdditionalProperties.Schema
		}
		values = append(values, b.node(said, a.Schema))
	} else if a != nil && len(values) > 0 {
		values = append(values, anything())
	} else if a != nil {
		out.AdditionalProperties = &schema.SchemaOrBool{Allows: true}
	}
	if len(values) > 0 {
		out.AdditionalProperties = &schema.SchemaOrBool{Schema: b.oneOf(values), Allows: true}
	}
}

// items is the stand-in for the items of a list. Items by position become items
// that may be any of them.
func (b standInBuilder) items(out, s, shape *schema.Schema) {
	if s == nil {
		s = &schema.Schema{}
	}
	if shape.Items != nil && len(shape.Tuple) == 0 {
		out.Items = b.node(s.Items, shape.Items)
		return
	}
	var items []*schema.Schema
	for i, place := range shape.Tuple {
		var said *schema.Schema
		if i < len(s.Tuple) {
			said = s.Tuple[i]
		}
		items = append(items, b.node(said, place))
	}
	if a := shape.AdditionalItems; a != nil && a.Schema != nil {
		var said *schema.Schema
		if s.AdditionalItems != nil {
			said = s.AdditionalItems.Schema
		}
		items = append(items, b.node(said, a.Schema))
	}
	if len(items) > 0 {
		// Items beyond those that are given may be anything.
		out.Items = b.oneOf(append(items, anything()))
	} else if out.Type == "array" || shape.AdditionalItems != nil {
		out.Items = anything()
	}
}

// oneOf is the stand-in for a value that is described by one of several.
func (b standInBuilder) oneOf(nodes []*schema.Schema) *schema.Schema {
	switch {
	case len(nodes) == 1:
		return nodes[0]
	case b.published:
		return &schema.Schema{AnyOf: nodes}
	}
	return anything()
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
		place := b.node(&said, skeleton.Build(&schema.Schema{Properties: map[string]*schema.Schema{name: &said}}).Binding().Properties[name])
		if place.Type == "" {
			place.Type, place.PreserveUnknownFields = kind, nil
		}
		out.Properties[name] = place
	}
}

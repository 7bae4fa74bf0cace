package definition

import (
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// structuralForm returns s in structural form: a structural schema that
// describes the same fields. Upstream's libraries accept no other schema. The
// result has every field of the skeleton sk, with the type that every valid
// value of the field has, and with the keywords that s has there outside of
// logic (allOf, anyOf, oneOf and not).
//
// A field with no such type may hold any value. Structural schemas write that as
// x-kubernetes-preserve-unknown-fields. The structural form of a nil schema
// accepts any object.
func structuralForm(s *schema.Schema, sk *skeleton.Skeleton) *schema.Schema {
	return structuralBuilder{}.build(s, sk.Binding())
}

type structuralBuilder struct {
	// unpruned is true below x-kubernetes-no-prune, where objects keep all fields.
	unpruned bool
	// published is true for a schema that clients read. It keeps logic, and a field
	// without a type does not get x-kubernetes-preserve-unknown-fields.
	published bool
}

// build returns the structural form of a schema. shape is the binding of its skeleton.
func (b structuralBuilder) build(s, shape *schema.Schema) *schema.Schema {
	if s == nil {
		return &schema.Schema{Type: "object", PreserveUnknownFields: new(true)}
	}
	out := b.node(s, shape)
	if out.Type == "" && s.PreserveUnknownFields == nil && s.NoPrune == nil {
		out.PreserveUnknownFields = nil
	}
	// Every custom resource is an object. Package skeleton refuses a schema with
	// another type at the root.
	out.Type, out.Nullable, out.Validations = "object", false, s.Validations
	b.objectMeta(out, s)
	return out
}

// node returns the structural form of one field. s is its schema outside of
// logic, or nil if only logic names the field. shape is its node in the
// skeleton.
func (b structuralBuilder) node(s, shape *schema.Schema) *schema.Schema {
	out := &schema.Schema{}
	if s != nil {
		b.unpruned = b.unpruned || schema.IsTrue(s.NoPrune)
		b.copyKeywords(out, s)
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
		b.objectMeta(out, s)
	}
	untyped := out.Type == "" && !out.IntOrString
	fieldsOnly := out.Type == "object" && !out.IntOrString && out.AdditionalProperties == nil
	if untyped && !b.published || b.unpruned && (untyped || fieldsOnly) {
		out.PreserveUnknownFields = new(true)
	}
	if untyped && !b.published {
		// CEL has no values without a type, see validateRulePlaces.
		out.Validations = nil
	}
	return out
}

// copyKeywords copies the keywords of s to out. It omits logic, the children,
// and what package skeleton validates, so that no error is reported twice.
func (b structuralBuilder) copyKeywords(out, s *schema.Schema) {
	*out = *s
	out.Properties, out.PatternProperties, out.AdditionalProperties = nil, nil, nil
	out.Items, out.Tuple, out.AdditionalItems = nil, nil, nil
	if !b.published {
		out.AllOf, out.AnyOf, out.OneOf, out.Not = nil, nil, nil, nil
	}
	out.PreserveUnknownFields = nil
	out.ID, out.SchemaURL, out.Ref, out.Definitions, out.Dependencies = "", "", nil, nil, nil
	out.UniqueItems = false
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			out.Pattern = ""
		}
	}
	out.Blank = 0
}

func (b structuralBuilder) properties(out, s, shape *schema.Schema) {
	if len(shape.Properties) == 0 {
		return
	}
	out.Properties = make(map[string]*schema.Schema, len(shape.Properties))
	for name, childShape := range shape.Properties {
		var child *schema.Schema
		if s != nil {
			child = s.Properties[name]
		}
		out.Properties[name] = b.node(child, childShape)
	}
}

// values sets the schema of the values of a map. Several patterns, or patterns
// beside additionalProperties, become one schema that accepts what any of them
// accepts.
func (b structuralBuilder) values(out, s, shape *schema.Schema) {
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
		var value *schema.Schema
		if s.AdditionalProperties != nil {
			value = s.AdditionalProperties.Schema
		}
		values = append(values, b.node(value, a.Schema))
	} else if a != nil && len(values) > 0 {
		values = append(values, anything())
	} else if a != nil {
		out.AdditionalProperties = &schema.SchemaOrBool{Allows: true}
	}
	if len(values) > 0 {
		out.AdditionalProperties = &schema.SchemaOrBool{Schema: b.anyOf(values), Allows: true}
	}
}

// items sets the schema of the items of a list. Items by position become one
// schema that accepts what any of them accepts.
func (b structuralBuilder) items(out, s, shape *schema.Schema) {
	if s == nil {
		s = &schema.Schema{}
	}
	if shape.Items != nil && len(shape.Tuple) == 0 {
		out.Items = b.node(s.Items, shape.Items)
		return
	}
	var items []*schema.Schema
	for i, itemShape := range shape.Tuple {
		var item *schema.Schema
		if i < len(s.Tuple) {
			item = s.Tuple[i]
		}
		items = append(items, b.node(item, itemShape))
	}
	if a := shape.AdditionalItems; a != nil && a.Schema != nil {
		var item *schema.Schema
		if s.AdditionalItems != nil {
			item = s.AdditionalItems.Schema
		}
		items = append(items, b.node(item, a.Schema))
	}
	if len(items) > 0 {
		// Items after those with a position may hold any value.
		out.Items = b.anyOf(append(items, anything()))
	} else if out.Type == "array" || shape.AdditionalItems != nil {
		out.Items = anything()
	}
}

// anyOf returns a schema that accepts what any of the schemas accepts. Only a
// published schema can list them; otherwise it accepts any value.
func (b structuralBuilder) anyOf(nodes []*schema.Schema) *schema.Schema {
	switch {
	case len(nodes) == 1:
		return nodes[0]
	case b.published:
		return &schema.Schema{AnyOf: nodes}
	}
	return anything()
}

func anything() *schema.Schema { return &schema.Schema{PreserveUnknownFields: new(true)} }

// objectMeta gives apiVersion, kind and metadata the form that upstream requires. It
// removes a property that only logic has, and from the others it removes everything
// that logic adds.
func (b structuralBuilder) objectMeta(out, s *schema.Schema) {
	for name, kind := range map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"} {
		if out.Properties[name] == nil {
			continue
		}
		if s == nil || s.Properties[name] == nil {
			delete(out.Properties, name)
			continue
		}
		child := *s.Properties[name]
		child.AllOf, child.AnyOf, child.OneOf, child.Not = nil, nil, nil, nil
		alone := skeleton.Build(&schema.Schema{Properties: map[string]*schema.Schema{name: &child}})
		node := b.node(&child, alone.Binding().Properties[name])
		if node.Type == "" {
			node.Type, node.PreserveUnknownFields = kind, nil
		}
		out.Properties[name] = node
	}
}

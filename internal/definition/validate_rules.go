package definition

import (
	"fmt"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// validateRulePlaces reports CEL rules that would never run. CEL can read a value
// only if the schema gives all valid values there the same type. Not every schema
// does. shape is the skeleton with these types.
func validateRulePlaces(s, shape *schema.Schema) schema.Errors {
	f := &rulePlaces{}
	f.visit(s, shape, nil, true)
	f.found.Sort()
	return f.found
}

type rulePlaces struct{ found schema.Errors }

// visit validates a node outside of logic and its children. typed is false below
// a node that has no type and keeps no unknown fields.
func (f *rulePlaces) visit(s, shape *schema.Schema, path *value.Path, typed bool) {
	if s == nil || shape == nil {
		return
	}
	open := schema.IsTrue(s.PreserveUnknownFields) || schema.IsTrue(s.NoPrune)
	known := shape.Type != "" || s.IntOrString || path == nil
	if len(s.Validations) > 0 && (!typed || !known) {
		f.refuse(path, "needs a type: %s",
			"CEL knows only values whose type is named on the node itself, through allOf, or by every branch of anyOf or oneOf")
	}
	typed = typed && (known || open)
	for name, child := range s.Properties {
		f.visit(child, shape.Properties[name], path.Child("properties").Key(name), typed)
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil && shape.AdditionalProperties != nil {
		f.visit(a.Schema, shape.AdditionalProperties.Schema, path.Child("additionalProperties"), typed)
	}
	f.visit(s.Items, shape.Items, path.Child("items"), typed)
	for pattern, child := range s.PatternProperties {
		at := path.Child("patternProperties").Key(pattern)
		if len(shape.PatternProperties) == 1 && shape.AdditionalProperties == nil {
			f.visit(child, shape.PatternProperties[pattern], at, typed)
		} else {
			f.refuseBelow(child, at, "several patternProperties")
		}
	}
	for i, child := range s.Tuple {
		f.refuseBelow(child, path.Child("items").Index(i), "items by position")
	}
	if a := s.AdditionalItems; a != nil {
		f.refuseBelow(a.Schema, path.Child("additionalItems"), "items by position")
	}
}

// refuseBelow reports every rule at and below a node that has no CEL type.
func (f *rulePlaces) refuseBelow(s *schema.Schema, path *value.Path, below string) {
	schema.Walk(s, func(v *schema.Visit) bool {
		if !v.InLogic && len(v.Schema.Validations) > 0 {
			f.refuse(path.Join(v.Path), "must not be used below %s, which CEL has no type for", below)
		}
		return true
	})
}

func (f *rulePlaces) refuse(path *value.Path, format string, args ...any) {
	at := path.Child(schema.ValidationsKeyword)
	f.found = append(f.found, &schema.Error{Path: at, Detail: fmt.Sprintf(format, args...)})
}

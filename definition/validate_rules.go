package definition

import (
	"fmt"

	"holdfast.dev/holdfast/schema"
)

// validateRulePlaces refuses CEL rules that would never run, because CEL knows
// only what has a type that binds. shape is the skeleton with those types.
func validateRulePlaces(s, shape *schema.Schema) schema.Errors {
	f := &rulePlaces{}
	f.look(s, shape, nil, true)
	f.found.Sort()
	return f.found
}

type rulePlaces struct{ found schema.Errors }

// look visits a node outside of logic. typed is false below a place that has no
// type and is not one that structural schemas leave open.
func (f *rulePlaces) look(s, shape *schema.Schema, path *schema.Path, typed bool) {
	if s == nil || shape == nil {
		return
	}
	open := schema.IsTrue(s.PreserveUnknownFields) || schema.IsTrue(s.NoPrune)
	known := shape.Type != "" || s.IntOrString || path == nil
	if len(s.Validations) > 0 && (!typed || !known) {
		f.refuse(path, "needs a type: %s", "CEL knows only values whose type is named on the node itself, through allOf, or by every branch of anyOf or oneOf")
	}
	typed = typed && (known || open)
	for name, child := range s.Properties {
		f.look(child, shape.Properties[name], path.Child("properties").Key(name), typed)
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil && shape.AdditionalProperties != nil {
		f.look(a.Schema, shape.AdditionalProperties.Schema, path.Child("additionalProperties"), typed)
	}
	f.look(s.Items, shape.Items, path.Child("items"), typed)
	for pattern, child := range s.PatternProperties {
		at := path.Child("patternProperties").Key(pattern)
		if len(shape.PatternProperties) == 1 && shape.AdditionalProperties == nil {
			f.look(child, shape.PatternProperties[pattern], at, typed)
		} else {
			f.lose(child, at, "several patternProperties")
		}
	}
	for i, child := range s.Tuple {
		f.lose(child, path.Child("items").Index(i), "items by position")
	}
	if a := s.AdditionalItems; a != nil {
		f.lose(a.Schema, path.Child("additionalItems"), "items by position")
	}
}

// lose refuses every rule at and below a node that CEL cannot describe.
func (f *rulePlaces) lose(s *schema.Schema, path *schema.Path, below string) {
	schema.Walk(s, func(v *schema.Visit) bool {
		if !v.InLogic && len(v.Schema.Validations) > 0 {
			at := path
			if v.Path != nil {
				at = path.Child(v.Path.String())
			}
			f.refuse(at, "must not be used below %s, which CEL has no type for", below)
		}
		return true
	})
}

func (f *rulePlaces) refuse(path *schema.Path, format string, args ...any) {
	f.found = append(f.found, &schema.Error{Path: path.Child(schema.ValidationsKeyword), Detail: fmt.Sprintf(format, args...)})
}

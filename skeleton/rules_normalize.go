package skeleton

import (
	"slices"

	"holdfast.dev/holdfast/schema"
)

// normalizeUndefined is the only valid value of x-kubernetes-normalize.
const normalizeUndefined = "undefined"

// normalize validates x-kubernetes-normalize. It is refused where a value cannot be
// removed.
func (r *ruleCheck) normalize(v *schema.Visit) {
	if v.Schema.Normalize == nil {
		return
	}
	path := v.Path.Child(schema.NormalizeKeyword)
	if *v.Schema.Normalize != normalizeUndefined {
		r.refuse(path, "must be %q, not %q", normalizeUndefined, *v.Schema.Normalize)
	}
	if v.InLogic {
		r.refuse(path, "must not be used inside allOf, anyOf, oneOf or not")
		return
	}
	if v.Edge != schema.Property {
		r.refuse(path, "must be used on one of the properties of an object")
		return
	}
	if inMetadata(v) {
		r.refuse(path, "must not be used in metadata")
		return
	}
	if t := v.Schema.Type; t != "array" && t != "object" {
		r.refuse(path, "must be used on a property of type array or object")
	}
	if isRequired(v.Parent.Schema, v.Name) {
		r.refuse(path, "must not be used on a required property")
	}
	if v.Schema.Default != nil {
		r.refuse(path, "must not be used beside a default")
	}
	if isListMapKey(v) {
		r.refuse(path, "must not be used on a key of a list of type map")
	}
}

func inMetadata(v *schema.Visit) bool {
	for v.Depth > 1 {
		v = v.Parent
	}
	return v.Edge == schema.Property && v.Name == "metadata"
}

// isRequired reports whether a property is required, also through allOf.
func isRequired(s *schema.Schema, name string) bool {
	if s == nil {
		return false
	}
	return slices.Contains(s.Required, name) ||
		slices.ContainsFunc(s.AllOf, func(branch *schema.Schema) bool { return isRequired(branch, name) })
}

func isListMapKey(v *schema.Visit) bool {
	item := v.Parent
	return item.Edge == schema.Item && slices.Contains(item.Parent.Schema.ListMapKeys, v.Name)
}

package skeleton

import (
	"fmt"
	"regexp"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// ruleCheck is one run of Rules.Check.
type ruleCheck struct {
	rules Rules
	found schema.Errors
}

func (r *ruleCheck) refuse(path *value.Path, format string, args ...any) {
	r.found = append(r.found, &schema.Error{Path: path, Detail: fmt.Sprintf(format, args...)})
}

// keywords refuses keywords and values that are not allowed anywhere.
func (r *ruleCheck) keywords(v *schema.Visit) {
	s := v.Schema
	for _, k := range []struct {
		name string
		used bool
	}{
		{"$ref", s.Ref != nil},
		{"id", s.ID != ""},
		{"definitions", len(s.Definitions) > 0},
		{"dependencies", len(s.Dependencies) > 0},
	} {
		if k.used {
			r.refuse(v.Path.Child(k.name), "is not supported")
		}
	}
	if s.Type == "null" {
		r.refuse(v.Path.Child("type"), "must not be null, use nullable: true beside the type")
	} else if s.Type != "" && kindNamed(s.Type) == anyKind {
		r.refuse(v.Path.Child("type"), "must be object, array, string, boolean, integer or number, not %q", s.Type)
	}
	if s.UniqueItems {
		r.refuse(v.Path.Child("uniqueItems"), "must not be true, because the check would take quadratic time; use %s: set",
			schema.ListTypeKeyword)
	}
	if s.Nullable && isRoot(v) {
		r.refuse(v.Path.Child("nullable"), "must not be true at the root")
	}
	if s.PreserveUnknownFields != nil && !*s.PreserveUnknownFields {
		r.refuse(v.Path.Child(schema.PreserveUnknownFieldsKeyword), "must be true or left out")
	}
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			r.refuse(v.Path.Child("pattern"), "must be a regular expression: %v", err)
		}
	}
	if v.Edge == schema.PatternProperty {
		if _, err := regexp.Compile(v.Name); err != nil {
			r.refuse(v.Path, "must be a regular expression: %v", err)
		}
	}
}

// logic refuses keywords that are not allowed inside allOf, anyOf, oneOf and not.
func (r *ruleCheck) logic(v *schema.Visit) {
	if !v.InLogic {
		return
	}
	s := v.Schema
	if s.Default != nil {
		r.refuse(v.Path.Child("default"), "must not be used inside allOf, anyOf, oneOf or not")
	}
	if len(s.Validations) > 0 {
		r.refuse(v.Path.Child(schema.ValidationsKeyword), "must not be used inside allOf, anyOf, oneOf or not")
	}
	if r.rules.NotPruned {
		return
	}
	for _, k := range []struct {
		name string
		used bool
	}{
		{schema.NoPruneKeyword, schema.IsTrue(s.NoPrune)},
		{schema.PreserveUnknownFieldsKeyword, schema.IsTrue(s.PreserveUnknownFields)},
		{schema.EmbeddedResourceKeyword, s.EmbeddedResource},
		{schema.IntOrStringKeyword, s.IntOrString},
		{schema.ListTypeKeyword, s.ListType != ""},
		{schema.ListMapKeysKeyword, len(s.ListMapKeys) > 0},
		{schema.MapTypeKeyword, s.MapType != ""},
	} {
		if k.used {
			r.refuse(v.Path.Child(k.name), "must not be used inside allOf, anyOf, oneOf or not")
		}
	}
}

// isRoot reports whether a node is the root, or logic of the root.
func isRoot(v *schema.Visit) bool {
	for ; v.Parent != nil; v = v.Parent {
		if !v.Edge.IsLogic() {
			return false
		}
	}
	return true
}

package immutability

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/schema"
)

// Validate returns an error for every marker in the schema of one version that is
// not valid, sorted by path. Paths begin at the schema.
func Validate(s *schema.Schema) schema.Errors {
	var v validator
	schema.Walk(s, func(at *schema.Visit) bool {
		v.node(at)
		return true
	})
	v.errors.Sort()
	return v.errors
}

type validator struct{ errors schema.Errors }

func (v *validator) refuse(at *schema.Visit, m Marker, format string, args ...any) {
	v.errors = append(v.errors, &schema.Error{
		Path:   at.Path.Child(keywordOn(at.Schema, m)),
		Detail: fmt.Sprintf(format, args...),
	})
}

// keywordOn returns the keyword with which s has the marker: a set that has a keyword of its own can also be written in full.
func keywordOn(s *schema.Schema, m Marker) string {
	if s.Update != nil && m.flag(s) == nil {
		return schema.UpdateKeyword
	}
	return m.Keyword()
}

func (v *validator) node(at *schema.Visit) {
	var given []Marker
	for _, m := range flagged {
		switch flag := m.flag(at.Schema); {
		case flag == nil:
		case *flag:
			given = append(given, m)
		default:
			v.refuse(at, m, "must be true or absent: false cannot undo a marker around it")
		}
	}
	if at.Schema.Update != nil {
		m, wrong := markerOfNames(at.Schema.Update)
		if wrong != "" {
			v.refuse(at, NoSet, "%s", wrong)
		} else {
			given = append(given, m)
		}
	}
	for i, m := range given {
		if i > 0 {
			v.refuse(at, m, "only one marker may stand on a node, and %s does already", given[0].Keyword())
		}
		v.place(at, m)
	}
}

// place reports that a marker may not be at a node.
func (v *validator) place(at *schema.Visit, m Marker) {
	switch place := forbiddenPlace(at); {
	case place != "":
		v.refuse(at, m, "may not stand %s", place)
	case m.has(ImmutableKeys):
		v.keys(at, m)
	}
}

// forbiddenPlace describes the place of a node if it must not have a marker. Otherwise
// it returns the empty string.
func forbiddenPlace(at *schema.Visit) string {
	if at.InLogic {
		return "inside of allOf, anyOf, oneOf or not"
	}
	if at.Edge == schema.Root {
		return "at the root of the schema"
	}
	top := at
	for ; top.Parent.Edge != schema.Root; top = top.Parent {
		if top.Edge > schema.AdditionalItem {
			break
		}
	}
	switch {
	case top.Edge > schema.AdditionalItem:
		return "in definitions or dependencies"
	case top.Edge != schema.Property || !isReserved(top.Name):
		return ""
	case top.Name == "metadata":
		return "in the metadata of the object: the server changes it"
	}
	return "on " + top.Name + " of the object: it cannot change anyway"
}

// keys validates a marker that is about keys.
func (v *validator) keys(at *schema.Visit, m Marker) {
	s := at.Schema
	if reason := missingKeys(s); reason != "" {
		v.refuse(at, m, "needs keys: %s", reason)
		return
	}
	if s.ListType == "set" && m&ImmutableKeys == ImmutableKeys {
		v.refuse(at, m, "the items of a list of type set are its keys: use %s", Immutable.Keyword())
		return
	}
	if s.ListType != "map" {
		return
	}
	for _, items := range itemsOf(s) {
		if schema.IsTrue(items.Immutable) {
			continue
		}
		for _, key := range s.ListMapKeys {
			if field := items.Properties[key]; field == nil || !schema.IsTrue(field.Immutable) {
				v.refuse(at, m, "needs %s on the items or on their key %q", Immutable.Keyword(), key)
			}
		}
	}
}

// itemsOf returns the schemas of the items of a list, the empty schema if there is
// none.
func itemsOf(s *schema.Schema) []*schema.Schema {
	var all []*schema.Schema
	for child := range s.Children() {
		switch child.Edge {
		case schema.Item, schema.TupleItem, schema.AdditionalItem:
			all = append(all, child.Schema)
		}
	}
	if len(all) == 0 {
		all = append(all, &schema.Schema{})
	}
	return all
}

// HasKeys reports whether the values of s have keys, which a marker about keys needs.
func HasKeys(s *schema.Schema) bool { return missingKeys(s) == "" }

// missingKeys says why s has no keys. It returns the empty string if s has keys.
func missingKeys(s *schema.Schema) string {
	scalar := []string{"string", "integer", "number", "boolean"}
	isList := s.Type == "array" || s.Type == "" && (s.ListType != "" || s.Items != nil || s.Tuple != nil)
	switch {
	case slices.Contains(scalar, s.Type) || s.IntOrString:
		return "this is a scalar"
	case isList && s.ListType == "map" && len(s.ListMapKeys) == 0:
		return "this list of type map names none in " + schema.ListMapKeysKeyword
	case isList && s.ListType != "map" && s.ListType != "set":
		return "this list is of type atomic, only lists of type map or set have keys"
	case isList:
		return ""
	case !s.IsMap():
		return "this is no map, it has no additionalProperties"
	case s.MapType == "atomic":
		return "this map is of type atomic"
	}
	return ""
}

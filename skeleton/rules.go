package skeleton

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/schema"
)

// Rules says which schemas a definition may carry. The zero value holds for
// definitions that are pruned.
type Rules struct {
	// NotPruned is for a definition with pruning off: extensions that steer
	// structure are then accepted, and ignored, inside logic.
	NotPruned bool
}

// Check returns everything that a definition with this schema is refused for,
// with its path inside the schema, sorted; empty means that it is acceptable.
// What the merge of logic brings together (properties beside a map, both forms
// of items) is reported at its path in the skeleton.
//
// Not here: the rules for markers, for lists and maps of upstream's merge
// types, and for the rest of a definition.
func (r Rules) Check(s *schema.Schema) schema.Errors {
	if s == nil {
		return nil
	}
	ruling := &ruling{rules: r}
	schema.Walk(s, func(v *schema.Visit) bool {
		ruling.keywords(v)
		ruling.logic(v)
		ruling.noPrune(v)
		ruling.normalize(v)
		return true
	})
	root := derive(s)
	if root.typ != "" && root.typ != "object" {
		ruling.refuse((*schema.Path)(nil).Child("type"), "must be object at the root, not %s", root.typ)
	}
	ruling.shape(root, nil)
	ruling.found.Sort()
	return ruling.found
}

// shape looks at what only the merge of all parts can tell.
func (r *ruling) shape(s *shape, path *schema.Path) {
	if len(s.properties) > 0 {
		const detail = "must not be used beside properties: an object has either known fields or free keys; " +
			"to keep unknown fields beside known ones use " + schema.PreserveUnknownFieldsKeyword + ": true"
		if s.additional != nil {
			r.refuse(path.Child("additionalProperties"), detail)
		}
		if len(s.patterns) > 0 {
			r.refuse(path.Child("patternProperties"), detail)
		}
	}
	if s.items != nil && len(s.tuple) > 0 {
		r.refuse(path.Child("items"), "must be either one schema or a list of schemas by position in all branches of logic, not both")
	}
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		r.shape(s.properties[name], path.Child("properties").Key(name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.patterns)) {
		r.shape(s.patterns[name], path.Child("patternProperties").Key(name))
	}
	if s.additional != nil {
		r.shape(s.additional, path.Child("additionalProperties"))
	}
	if s.items != nil {
		r.shape(s.items, path.Child("items"))
	}
	for i, item := range s.tuple {
		r.shape(item, path.Child("items").Index(i))
	}
	if s.rest != nil {
		r.shape(s.rest, path.Child("additionalItems"))
	}
}

package skeleton

import (
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
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
		ruling.refuse((*value.Path)(nil).Child("type"), "must be object at the root, not %s", root.typ)
	}
	ruling.shape(root, nil)
	ruling.found.Sort()
	return ruling.found
}

// shape looks at what only the merge of all parts can tell.
func (r *ruling) shape(n *node, path *value.Path) {
	if len(n.declared) > 0 {
		const detail = "must not be used beside properties: an object has either known fields or free keys; " +
			"to keep unknown fields beside known ones use " + schema.PreserveUnknownFieldsKeyword + ": true"
		if n.additional != nil {
			r.refuse(path.Child("additionalProperties"), detail)
		}
		if len(n.patterns) > 0 {
			r.refuse(path.Child("patternProperties"), detail)
		}
	}
	if n.items != nil && len(n.tuple) > 0 {
		r.refuse(path.Child("items"), "must be either one schema or a list of schemas by position in all branches of logic, not both")
	}
	for name, c := range n.declared {
		r.shape(c, path.Child("properties").Key(name))
	}
	for _, p := range n.patterns {
		r.shape(p.value, path.Child("patternProperties").Key(p.source))
	}
	if n.additional != nil {
		r.shape(n.additional, path.Child("additionalProperties"))
	}
	if n.items != nil {
		r.shape(n.items, path.Child("items"))
	}
	for i, item := range n.tuple {
		r.shape(item, path.Child("items").Index(i))
	}
	if n.beyond != nil {
		r.shape(n.beyond, path.Child("additionalItems"))
	}
}

package skeleton

import (
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Rules validates the schema of a definition. The zero value is for definitions with
// pruning.
type Rules struct {
	// NotPruned is for a definition with pruning off: extensions about structure are
	// then accepted, and ignored, inside logic.
	NotPruned bool
}

// Check returns all errors of a schema, with their paths inside the schema, sorted. If
// only the merged logic is wrong (properties beside a map, both forms of items), the
// path is that in the skeleton.
//
// Markers, list types and map types, and the rest of a definition are validated
// elsewhere.
func (r Rules) Check(s *schema.Schema) schema.Errors {
	if s == nil {
		return nil
	}
	check := &ruleCheck{rules: r}
	schema.Walk(s, func(v *schema.Visit) bool {
		check.keywords(v)
		check.logic(v)
		check.noPrune(v)
		check.normalize(v)
		return true
	})
	root := derive(s)
	if root.typ != "" && root.typ != "object" {
		check.refuse((*value.Path)(nil).Child("type"), "must be object at the root, not %s", root.typ)
	}
	check.shape(root, nil)
	check.found.Sort()
	return check.found
}

// shape validates what can only be seen after logic was merged.
func (r *ruleCheck) shape(n *node, path *value.Path) {
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

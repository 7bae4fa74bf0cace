package skeleton

import "holdfast.dev/holdfast/schema"

// noPrune validates x-kubernetes-no-prune.
func (r *ruleCheck) noPrune(v *schema.Visit) {
	if v.Schema.NoPrune == nil {
		return
	}
	path := v.Path.Child(schema.NoPruneKeyword)
	if !*v.Schema.NoPrune {
		r.refuse(path, "must be true or left out")
		return
	}
	if schema.IsTrue(v.Schema.PreserveUnknownFields) {
		r.refuse(path, "must not be used together with %s: choose the one that is meant", schema.PreserveUnknownFieldsKeyword)
	}
	if v.InLogic {
		return
	}
	for up := v.Parent; up != nil; up = up.Parent {
		if schema.IsTrue(up.Schema.NoPrune) {
			r.refuse(path, "must not be used below another one, which leaves everything below it alone already")
			return
		}
	}
}

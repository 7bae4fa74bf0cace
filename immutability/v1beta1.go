package immutability

import "holdfast.dev/holdfast/schema"

// ValidateV1beta1 returns an error for every marker that a write through
// apiextensions.k8s.io/v1beta1 may not add, sorted by path. oldSchema is the
// schema of the same version in the stored definition, nil on create. A marker
// that it already has at the same path may stay. [Weakened] finds markers that
// the write removes.
func ValidateV1beta1(oldSchema, newSchema *schema.Schema) schema.Errors {
	known := map[string]bool{}
	schema.Walk(oldSchema, func(at *schema.Visit) bool {
		for _, m := range markers {
			if m.flag(at.Schema) != nil {
				known[at.Path.Child(m.Keyword()).String()] = true
			}
		}
		return true
	})
	var errors schema.Errors
	schema.Walk(newSchema, func(at *schema.Visit) bool {
		for _, m := range markers {
			if m.flag(at.Schema) == nil {
				continue
			}
			path := at.Path.Child(m.Keyword())
			if known[path.String()] {
				continue
			}
			errors = append(errors, &schema.Error{
				Path:   path,
				Detail: "may not be added through apiextensions.k8s.io/v1beta1: use apiextensions.k8s.io/v1",
			})
		}
		return true
	})
	errors.Sort()
	return errors
}

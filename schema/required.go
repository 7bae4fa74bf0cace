package schema

import "slices"

// Requires reports whether a property is required, also through allOf.
func (s *Schema) Requires(name string) bool {
	return slices.Contains(s.Required, name) ||
		slices.ContainsFunc(s.AllOf, func(branch *Schema) bool { return branch != nil && branch.Requires(name) })
}

package skeleton

import "holdfast.dev/holdfast/schema"

// Skeleton is the shape of one schema, ready for use. Make one with Build.
type Skeleton struct{ root *node }

// Build derives the skeleton of s, of which it keeps default values only. It
// takes any schema, also one that Rules refuses, and then errs on the side of
// keeping data: a pattern that is no regular expression matches every key, and
// a list with both forms of items is left alone. A nil schema has the skeleton
// of the empty one.
func Build(s *schema.Schema) *Skeleton {
	root := derive(s)
	if !root.embedded {
		root.addResourceFields()
	}
	return &Skeleton{root: root}
}

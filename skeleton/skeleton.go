package skeleton

import "holdfast.dev/holdfast/schema"

// Skeleton is the structure of one schema. Build makes one.
type Skeleton struct{ root *node }

// Build derives the skeleton of s. It shares only default values with s. It accepts
// every schema, even one that Rules refuses. If such a schema is ambiguous, the
// skeleton keeps data: a pattern that is no regular expression matches every key,
// and a list with both forms of items is not pruned. The skeleton of a nil schema is
// that of the empty schema.
func Build(s *schema.Schema) *Skeleton {
	root := derive(s)
	if !root.embedded {
		root.addResourceFields()
	}
	return &Skeleton{root: root}
}

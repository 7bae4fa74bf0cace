package definition

import (
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// SameSpec reports whether two specs are semantically equal. It compares the texts of schemas first, and only what is left by
// reflection, which takes a step for every byte of a text.
func SameSpec(a, b *CustomResourceDefinitionSpec) bool {
	if len(a.Versions) != len(b.Versions) {
		return false
	}
	for i := range a.Versions {
		x, y := a.Versions[i].Schema, b.Versions[i].Schema
		if (x == nil) != (y == nil) || x != nil && !sameSchema(x, y) {
			return false
		}
	}
	return apiequality.Semantic.DeepEqual(withoutSchemas(a), withoutSchemas(b))
}

func withoutSchemas(s *CustomResourceDefinitionSpec) CustomResourceDefinitionSpec {
	out := *s
	out.Versions = slices.Clone(s.Versions)
	for i := range out.Versions {
		out.Versions[i].Schema = nil
	}
	return out
}

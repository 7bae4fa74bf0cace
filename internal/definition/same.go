package definition

import (
	"bytes"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"holdfast.dev/holdfast/immutability"
)

// SameForObjects reports whether two states of a definition judge objects in the same way: they have the same spec and the same
// annotation with markers.
func SameForObjects(a, b *CustomResourceDefinition) bool {
	return a.Annotations[immutability.Annotation] == b.Annotations[immutability.Annotation] && SameSpec(&a.Spec, &b.Spec)
}

// SameSpec reports whether two specs are semantically equal. It compares the texts of schemas first, and only what is left by
// reflection, which takes a step for every byte of a text.
func SameSpec(a, b *CustomResourceDefinitionSpec) bool {
	if len(a.Versions) != len(b.Versions) {
		return false
	}
	for i := range a.Versions {
		if !SameSchema(a.Versions[i].Schema, b.Versions[i].Schema) {
			return false
		}
	}
	return apiequality.Semantic.DeepEqual(withoutSchemas(a), withoutSchemas(b))
}

// SameSchema reports whether the schemas of two versions have the same text. A version may have none.
func SameSchema(a, b *CustomResourceValidation) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.OpenAPIV3Schema, b.OpenAPIV3Schema)
}

func withoutSchemas(s *CustomResourceDefinitionSpec) CustomResourceDefinitionSpec {
	out := *s
	out.Versions = slices.Clone(s.Versions)
	for i := range out.Versions {
		out.Versions[i].Schema = nil
	}
	return out
}

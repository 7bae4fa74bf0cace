package custom

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// publish adds to a published model what upstream's builder does not know: the
// markers and our other keywords as they are, and for kubectl explain a word at
// the beginning of the descriptions.
func publish(model *spec.Schema, crd *definition.CustomResourceDefinition, version string) error {
	v := crd.Spec.Version(version)
	if v == nil || model == nil {
		return nil
	}
	s, _, err := v.DecodeSchema()
	if err != nil || s == nil {
		return err
	}
	annotate(model, s)
	return nil
}

// annotate walks the model and the schema it was made from. What the model leaves
// out, as v2 does below some nodes, is left out.
func annotate(model *spec.Schema, s *schema.Schema) {
	if model.Description == "" {
		model.Description = s.Description
	}
	if marker := immutability.MarkerOf(s); marker != immutability.Free {
		model.VendorExtensible.AddExtension(marker.Keyword(), true)
		model.Description = prefixOf(marker) + model.Description
	}
	if schema.IsTrue(s.NoPrune) {
		model.VendorExtensible.AddExtension(schema.NoPruneKeyword, true)
	}
	if s.Normalize != nil {
		model.VendorExtensible.AddExtension(schema.NormalizeKeyword, *s.Normalize)
	}
	for name, child := range s.Properties {
		// The metadata of objects is published by reference.
		if property, ok := model.Properties[name]; ok && property.Ref.String() == "" {
			annotate(&property, child)
			model.Properties[name] = property
		}
	}
	if s.Items != nil && model.Items != nil && model.Items.Schema != nil {
		annotate(model.Items.Schema, s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil &&
		model.AdditionalProperties != nil && model.AdditionalProperties.Schema != nil {
		annotate(model.AdditionalProperties.Schema, s.AdditionalProperties.Schema)
	}
}

func prefixOf(marker immutability.Marker) string {
	switch marker {
	case immutability.Immutable:
		return "Immutable. "
	case immutability.ImmutableKeys:
		return "Keys are immutable. "
	case immutability.AdditionOnly:
		return "Addition only. "
	case immutability.DeletionOnly:
		return "Deletion only. "
	}
	return ""
}

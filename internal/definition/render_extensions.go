package definition

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/schema"
)

// extend adds the extensions of a node, both upstream's and ours.
func extend(out *spec.Schema, s *schema.Schema) {
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{schema.ImmutableKeyword, schema.IsTrue(s.Immutable)},
		{schema.ImmutableKeysKeyword, schema.IsTrue(s.ImmutableKeys)},
		{schema.AdditionOnlyKeyword, schema.IsTrue(s.AdditionOnly)},
		{schema.DeletionOnlyKeyword, schema.IsTrue(s.DeletionOnly)},
		{schema.NoPruneKeyword, schema.IsTrue(s.NoPrune)},
		{schema.PreserveUnknownFieldsKeyword, preservesUnknown(s)},
		{schema.EmbeddedResourceKeyword, s.EmbeddedResource},
		{schema.IntOrStringKeyword, s.IntOrString},
	} {
		if flag.set {
			out.AddExtension(flag.name, true)
		}
	}
	if s.Update != nil {
		out.AddExtension(schema.UpdateKeyword, s.Update)
	}
	if s.Normalize != nil {
		out.AddExtension(schema.NormalizeKeyword, *s.Normalize)
	}
	if s.ListType != "" {
		out.AddExtension(schema.ListTypeKeyword, s.ListType)
	}
	if s.MapType != "" {
		out.AddExtension(schema.MapTypeKeyword, s.MapType)
	}
	if len(s.ListMapKeys) > 0 {
		keys := make([]any, len(s.ListMapKeys))
		for i, key := range s.ListMapKeys {
			keys[i] = key
		}
		out.AddExtension(schema.ListMapKeysKeyword, keys)
	}
	if len(s.Validations) > 0 {
		published := make([]any, len(s.Validations))
		for i, rule := range s.Validations {
			published[i] = apiextensionsv1.ValidationRule{
				Rule: rule.Rule, Message: rule.Message, MessageExpression: rule.MessageExpression,
				Reason:    (*apiextensionsv1.FieldValueErrorReason)(rule.Reason),
				FieldPath: rule.FieldPath, OptionalOldSelf: rule.OptionalOldSelf,
			}
		}
		out.AddExtension(schema.ValidationsKeyword, published)
	}
}

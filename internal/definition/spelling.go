package definition

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/schema"
)

// isAboutIdenticalVersions reports whether err comes from a rule of upstream's
// internal form: a field with the same value in all versions must be at the top
// of the spec.
func isAboutIdenticalVersions(err *field.Error) bool {
	return strings.Contains(err.Detail, "may not all be set to identical values")
}

// inV1 translates an error of upstream's rules. Upstream validates its internal
// form, with the schemas in structural form. The result has the path and the
// value that the field has in v1.
func inV1(crd *CustomResourceDefinition, versions []readVersion, err *field.Error) *field.Error {
	out := *err
	if out.Field == "spec.versions" {
		names := make([]string, len(crd.Spec.Versions))
		for i, v := range crd.Spec.Versions {
			names[i] = v.Name
		}
		out.BadValue = names
	}
	switch value := out.BadValue.(type) {
	case apiextensions.ValidationRule:
		out.BadValue = value.Rule
	case apiextensions.JSONSchemaProps:
		// A whole schema is too long for a message.
		out.BadValue = field.OmitValueType{}
	}
	out.Field = replacePrefix(out.Field, "spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig")
	out.Field = replacePrefix(out.Field,
		"spec.conversion.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions")
	if column, ok := strings.CutSuffix(out.Field, "].JSONPath"); ok {
		out.Field = column + "].jsonPath"
	}
	for i := range versions {
		root := schemaPath(i)
		if strings.HasPrefix(out.Field, root.String()) {
			out.Field = inPatternProperties(out.Field, root, versions[i].schema)
		}
	}
	return &out
}

// inPatternProperties translates a path of the schema in structural form to the
// schema that the client wrote. If a node has exactly one pattern, its structural
// form has additionalProperties in place of patternProperties.
func inPatternProperties(at string, root *field.Path, s *schema.Schema) string {
	schema.Walk(s, func(v *schema.Visit) bool {
		if v.InLogic || len(v.Schema.PatternProperties) != 1 || v.Schema.AdditionalProperties != nil {
			return !v.InLogic
		}
		for pattern := range v.Schema.PatternProperties {
			from := below(root, v.Path.Child("additionalProperties"))
			to := below(root, v.Path.Child("patternProperties").Key(pattern))
			at = replacePrefix(at, from.String(), to.String())
		}
		return true
	})
	return at
}

// inV1beta1 translates errors with v1 paths to v1beta1.
func inV1beta1(crd *CustomResourceDefinition, errs field.ErrorList) field.ErrorList {
	translate := v1beta1Paths(crd)
	var out field.ErrorList
	seen := map[string]bool{}
	for _, err := range errs {
		copied := *err
		copied.Field = translate(copied.Field)
		if text := copied.Error(); !seen[text] {
			seen[text] = true
			out = append(out, &copied)
		}
	}
	return out
}

// v1beta1Paths returns a function that translates v1 paths to v1beta1. Fields with the
// same value in all versions are at the top of the spec there, and some fields have
// other names.
func v1beta1Paths(crd *CustomResourceDefinition) func(path string) string {
	type moved struct{ from, to string }
	var moves []moved
	same := func(from, to string, equal func(a, b *CustomResourceDefinitionVersion) bool) {
		for i := range crd.Spec.Versions {
			if !equal(&crd.Spec.Versions[0], &crd.Spec.Versions[i]) {
				return
			}
		}
		moves = append(moves, moved{from, "spec." + to})
	}
	same("schema", "validation", func(a, b *CustomResourceDefinitionVersion) bool {
		return SameSchema(a.Schema, b.Schema)
	})
	same("subresources", "subresources", func(a, b *CustomResourceDefinitionVersion) bool {
		return apiequality.Semantic.DeepEqual(a.Subresources, b.Subresources)
	})
	same("additionalPrinterColumns", "additionalPrinterColumns", func(a, b *CustomResourceDefinitionVersion) bool {
		return slices.Equal(a.AdditionalPrinterColumns, b.AdditionalPrinterColumns)
	})
	same("selectableFields", "selectableFields", func(a, b *CustomResourceDefinitionVersion) bool {
		return slices.Equal(a.SelectableFields, b.SelectableFields)
	})
	return func(path string) string {
		for i := range crd.Spec.Versions {
			for _, m := range moves {
				path = replacePrefix(path, fmt.Sprintf("spec.versions[%d].%s", i, m.from), m.to)
			}
		}
		path = replacePrefix(path, "spec.conversion.webhook.clientConfig", "spec.conversion.webhookClientConfig")
		path = replacePrefix(path,
			"spec.conversion.webhook.conversionReviewVersions", "spec.conversion.conversionReviewVersions")
		if column, ok := strings.CutSuffix(path, "].jsonPath"); ok && strings.Contains(column, "additionalPrinterColumns[") {
			path = column + "].JSONPath"
		}
		return path
	}
}

func replacePrefix(at, from, to string) string {
	if rest, ok := strings.CutPrefix(at, from); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
		return to + rest
	}
	return at
}

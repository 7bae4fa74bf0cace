package v1beta1

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"holdfast.dev/holdfast/internal/definition"
)

// FromStored converts a stored definition to v1beta1.
func FromStored(in *definition.CustomResourceDefinition) *CustomResourceDefinition {
	in = in.DeepCopy() // out takes over the memory of the copy
	out := &CustomResourceDefinition{ObjectMeta: in.ObjectMeta, Status: in.Status}

	spec := &out.Spec
	spec.Group, spec.Scope, spec.Names = in.Spec.Group, in.Spec.Scope, in.Spec.Names
	spec.Conversion = conversionFromStored(in.Spec.Conversion)
	for i := range in.Spec.Versions {
		spec.Versions = append(spec.Versions, versionFromStored(&in.Spec.Versions[i]))
	}
	if len(spec.Versions) > 0 {
		spec.Version = spec.Versions[0].Name
		spec.moveToTop()
	}
	spec.showPruning(&in.Spec)
	return out
}

func versionFromStored(v *definition.CustomResourceDefinitionVersion) CustomResourceDefinitionVersion {
	out := CustomResourceDefinitionVersion{
		Name: v.Name, Served: v.Served, Storage: v.Storage,
		Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning,
		Schema:           v.Schema,
		Subresources:     v.Subresources,
		SelectableFields: v.SelectableFields,
	}
	for _, c := range v.AdditionalPrinterColumns {
		out.AdditionalPrinterColumns = append(out.AdditionalPrinterColumns, apiextensionsv1beta1.CustomResourceColumnDefinition(c))
	}
	return out
}

// moveToTop moves each field that is the same in all versions to the top of the
// spec.
func (s *CustomResourceDefinitionSpec) moveToTop() {
	first := s.Versions[0]
	same := func(equal func(v *CustomResourceDefinitionVersion) bool) bool {
		for i := range s.Versions {
			if !equal(&s.Versions[i]) {
				return false
			}
		}
		return true
	}
	if same(func(v *CustomResourceDefinitionVersion) bool { return definition.SameSchema(v.Schema, first.Schema) }) {
		s.Validation = first.Schema
		for i := range s.Versions {
			s.Versions[i].Schema = nil
		}
	}
	if same(func(v *CustomResourceDefinitionVersion) bool {
		return apiequality.Semantic.DeepEqual(v.Subresources, first.Subresources)
	}) {
		s.Subresources = first.Subresources
		for i := range s.Versions {
			s.Versions[i].Subresources = nil
		}
	}
	if same(func(v *CustomResourceDefinitionVersion) bool {
		return slices.Equal(v.AdditionalPrinterColumns, first.AdditionalPrinterColumns)
	}) {
		s.AdditionalPrinterColumns = first.AdditionalPrinterColumns
		for i := range s.Versions {
			s.Versions[i].AdditionalPrinterColumns = nil
		}
	}
	if same(func(v *CustomResourceDefinitionVersion) bool {
		return slices.Equal(v.SelectableFields, first.SelectableFields)
	}) {
		s.SelectableFields = first.SelectableFields
		for i := range s.Versions {
			s.Versions[i].SelectableFields = nil
		}
	}
}

// showPruning shows whether the server prunes objects. If all versions agree, it
// sets preserveUnknownFields, which every client of v1beta1 knows. Otherwise it
// sets prune in each version.
func (s *CustomResourceDefinitionSpec) showPruning(stored *definition.CustomResourceDefinitionSpec) {
	switch {
	case stored.PrunedEverywhere():
		s.PreserveUnknownFields = new(false)
	case !stored.PrunedAnywhere():
		s.PreserveUnknownFields = new(true)
	default:
		for i := range s.Versions {
			s.Versions[i].Prune = new(stored.Pruned(s.Versions[i].Name))
		}
	}
}

// conversionFromStored takes over the memory of in.
func conversionFromStored(in *apiextensionsv1.CustomResourceConversion) *apiextensionsv1beta1.CustomResourceConversion {
	if in == nil {
		return nil
	}
	out := &apiextensionsv1beta1.CustomResourceConversion{Strategy: apiextensionsv1beta1.ConversionStrategyType(in.Strategy)}
	if in.Webhook == nil {
		return out
	}
	out.ConversionReviewVersions = in.Webhook.ConversionReviewVersions
	if c := in.Webhook.ClientConfig; c != nil {
		out.WebhookClientConfig = &apiextensionsv1beta1.WebhookClientConfig{
			URL: c.URL, CABundle: c.CABundle, Service: (*apiextensionsv1beta1.ServiceReference)(c.Service),
		}
	}
	return out
}

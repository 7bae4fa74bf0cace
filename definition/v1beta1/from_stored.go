package v1beta1

import (
	"bytes"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"holdfast.dev/holdfast/definition"
)

// FromStored is a stored definition in this form.
func FromStored(in *definition.CustomResourceDefinition) *CustomResourceDefinition {
	out := &CustomResourceDefinition{}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Status.DeepCopyInto(&out.Status)

	spec := &out.Spec
	spec.Group, spec.Scope = in.Spec.Group, in.Spec.Scope
	in.Spec.Names.DeepCopyInto(&spec.Names)
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
		Deprecated: v.Deprecated, DeprecationWarning: copyPointer(v.DeprecationWarning),
		Schema:           v.Schema.DeepCopy(),
		Subresources:     v.Subresources.DeepCopy(),
		SelectableFields: slices.Clone(v.SelectableFields),
	}
	for _, c := range v.AdditionalPrinterColumns {
		out.AdditionalPrinterColumns = append(out.AdditionalPrinterColumns, apiextensionsv1beta1.CustomResourceColumnDefinition(c))
	}
	return out
}

// moveToTop states once what is the same in all versions.
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
	if same(func(v *CustomResourceDefinitionVersion) bool { return sameSchema(v.Schema, first.Schema) }) {
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

func sameSchema(a, b *definition.CustomResourceValidation) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.OpenAPIV3Schema, b.OpenAPIV3Schema)
}

// showPruning says whether objects are pruned: by preserveUnknownFields where
// one answer holds for all versions, because clients of this form know it, and
// by prune in each version otherwise.
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

func conversionFromStored(in *apiextensionsv1.CustomResourceConversion) *apiextensionsv1beta1.CustomResourceConversion {
	if in == nil {
		return nil
	}
	out := &apiextensionsv1beta1.CustomResourceConversion{Strategy: apiextensionsv1beta1.ConversionStrategyType(in.Strategy)}
	if in.Webhook == nil {
		return out
	}
	out.ConversionReviewVersions = slices.Clone(in.Webhook.ConversionReviewVersions)
	if c := in.Webhook.ClientConfig.DeepCopy(); c != nil {
		out.WebhookClientConfig = &apiextensionsv1beta1.WebhookClientConfig{
			URL: c.URL, CABundle: c.CABundle, Service: (*apiextensionsv1beta1.ServiceReference)(c.Service),
		}
	}
	return out
}

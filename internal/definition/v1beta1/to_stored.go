package v1beta1

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/definition"
)

// ToStored converts the definition to the form that the server stores. Fields
// that contradict each other have no place in that form. They are reported as
// its ConversionErrors.
func (in *CustomResourceDefinition) ToStored() *definition.CustomResourceDefinition {
	in = in.DeepCopy() // out takes over the memory of the copy
	out := &definition.CustomResourceDefinition{ObjectMeta: in.ObjectMeta, Status: in.Status}

	spec := &out.Spec
	spec.Group, spec.Scope, spec.Names = in.Spec.Group, in.Spec.Scope, in.Spec.Names
	spec.Conversion = conversionToStored(in.Spec.Conversion)
	spec.PreserveUnknownFields, spec.Prune = in.Spec.PreserveUnknownFields, in.Spec.Prune
	versions := in.Spec.Versions
	if len(versions) == 0 && in.Spec.Version != "" {
		versions = []CustomResourceDefinitionVersion{{Name: in.Spec.Version, Served: true, Storage: true}}
	}
	for i := range versions {
		spec.Versions = append(spec.Versions, in.Spec.versionToStored(&versions[i]))
	}
	spec.ConversionErrors = definition.ConversionErrors(in.Spec.contradictions(versions))
	return out
}

// versionToStored converts one version. The fields at the top of the spec hold
// for each version that does not set them itself, so each gets its own copy.
func (s *CustomResourceDefinitionSpec) versionToStored(v *CustomResourceDefinitionVersion) definition.CustomResourceDefinitionVersion {
	out := definition.CustomResourceDefinitionVersion{
		Name: v.Name, Served: v.Served, Storage: v.Storage,
		Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning,
		Prune:            v.Prune,
		Schema:           v.Schema,
		Subresources:     v.Subresources,
		SelectableFields: v.SelectableFields,
	}
	if out.Schema == nil {
		out.Schema = s.Validation.DeepCopy()
	}
	if out.Subresources == nil {
		out.Subresources = s.Subresources.DeepCopy()
	}
	if len(out.SelectableFields) == 0 {
		out.SelectableFields = slices.Clone(s.SelectableFields)
	}
	columns := v.AdditionalPrinterColumns
	if len(columns) == 0 {
		columns = s.AdditionalPrinterColumns
	}
	for _, c := range columns {
		out.AdditionalPrinterColumns = append(out.AdditionalPrinterColumns, apiextensionsv1.CustomResourceColumnDefinition(c))
	}
	return out
}

// contradictions returns an error for each field that is set both at the top of
// the spec and in a version, and for a spec.version that is not the name of the
// first version.
func (s *CustomResourceDefinitionSpec) contradictions(versions []CustomResourceDefinitionVersion) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if s.Version != "" && s.Version != versions[0].Name {
		errs = append(errs, field.Invalid(path.Child("version"), s.Version, "must match the first version in spec.versions"))
	}
	var schemas, subresources, columns, selectable bool
	for _, v := range versions {
		schemas = schemas || v.Schema != nil
		subresources = subresources || v.Subresources != nil
		columns = columns || len(v.AdditionalPrinterColumns) > 0
		selectable = selectable || len(v.SelectableFields) > 0
	}
	for _, twice := range []struct {
		name, what string
		is         bool
	}{
		{"validation", "schemas", s.Validation != nil && schemas},
		{"subresources", "subresources", s.Subresources != nil && subresources},
		{"additionalPrinterColumns", "additionalPrinterColumns", len(s.AdditionalPrinterColumns) > 0 && columns},
		{"selectableFields", "selectableFields", len(s.SelectableFields) > 0 && selectable},
	} {
		if twice.is {
			errs = append(errs, field.Forbidden(path.Child(twice.name),
				fmt.Sprintf("top-level and per-version %s are mutually exclusive", twice.what)))
		}
	}
	return errs
}

// conversionToStored takes over the memory of in.
func conversionToStored(in *apiextensionsv1beta1.CustomResourceConversion) *apiextensionsv1.CustomResourceConversion {
	if in == nil {
		return nil
	}
	out := &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.ConversionStrategyType(in.Strategy)}
	if in.WebhookClientConfig == nil && in.ConversionReviewVersions == nil {
		return out
	}
	out.Webhook = &apiextensionsv1.WebhookConversion{ConversionReviewVersions: in.ConversionReviewVersions}
	if c := in.WebhookClientConfig; c != nil {
		out.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
			URL: c.URL, CABundle: c.CABundle, Service: (*apiextensionsv1.ServiceReference)(c.Service),
		}
	}
	return out
}

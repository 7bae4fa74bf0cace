package definition

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// This file converts definitions to upstream's Go types. They have the same
// fields, some with other names.

func upstreamConversion(in *apiextensionsv1.CustomResourceConversion) *apiextensions.CustomResourceConversion {
	if in == nil {
		return nil
	}
	out := &apiextensions.CustomResourceConversion{Strategy: apiextensions.ConversionStrategyType(in.Strategy)}
	if in.Webhook == nil {
		return out
	}
	out.ConversionReviewVersions = in.Webhook.ConversionReviewVersions
	c := in.Webhook.ClientConfig
	if c == nil {
		return out
	}
	out.WebhookClientConfig = &apiextensions.WebhookClientConfig{URL: c.URL, CABundle: c.CABundle}
	if s := c.Service; s != nil {
		out.WebhookClientConfig.Service = &apiextensions.ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: s.Path, Port: 443}
		if s.Port != nil {
			out.WebhookClientConfig.Service.Port = *s.Port
		}
	}
	return out
}

func upstreamStatus(in *CustomResourceDefinitionStatus) apiextensions.CustomResourceDefinitionStatus {
	out := apiextensions.CustomResourceDefinitionStatus{
		AcceptedNames:      apiextensions.CustomResourceDefinitionNames(in.AcceptedNames),
		StoredVersions:     in.StoredVersions,
		ObservedGeneration: in.ObservedGeneration,
	}
	for _, c := range in.Conditions {
		out.Conditions = append(out.Conditions, apiextensions.CustomResourceDefinitionCondition{
			Type:               apiextensions.CustomResourceDefinitionConditionType(c.Type),
			Status:             apiextensions.ConditionStatus(c.Status),
			LastTransitionTime: c.LastTransitionTime,
			Reason:             c.Reason,
			Message:            c.Message,
			ObservedGeneration: c.ObservedGeneration,
		})
	}
	return out
}

func (r *readVersion) upstream(v *CustomResourceDefinitionVersion) apiextensions.CustomResourceDefinitionVersion {
	out := apiextensions.CustomResourceDefinitionVersion{
		Name: v.Name, Served: v.Served, Storage: v.Storage,
		Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning,
		Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: typing{omitDocs: true, omitRules: r.omitRules}.of(r.structural)},
	}
	if s := v.Subresources; s != nil {
		out.Subresources = &apiextensions.CustomResourceSubresources{Status: (*apiextensions.CustomResourceSubresourceStatus)(s.Status)}
		if s.Scale != nil {
			out.Subresources.Scale = (*apiextensions.CustomResourceSubresourceScale)(s.Scale)
		}
	}
	for _, c := range v.AdditionalPrinterColumns {
		out.AdditionalPrinterColumns = append(out.AdditionalPrinterColumns, apiextensions.CustomResourceColumnDefinition(c))
	}
	if r.schema == nil {
		// Without a schema, validateVersion reports the selectable fields.
		return out
	}
	for _, f := range v.SelectableFields {
		out.SelectableFields = append(out.SelectableFields, apiextensions.SelectableField(f))
	}
	return out
}

// Typed returns the definition as upstream's v1 Go type, with the schemas in
// structural form and sets of objects atomic. Upstream's libraries build the
// types of server-side apply and the paths of OpenAPI documents from it. It is
// not for responses to clients. It returns an error if a schema cannot be
// decoded, see Compile.
func Typed(crd *CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	out := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: crd.ObjectMeta,
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: crd.Spec.Group, Names: crd.Spec.Names, Scope: crd.Spec.Scope, Conversion: crd.Spec.Conversion,
			PreserveUnknownFields: !crd.Spec.PrunedAnywhere(),
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: crd.Status.Conditions, AcceptedNames: crd.Status.AcceptedNames, StoredVersions: crd.Status.StoredVersions,
		},
	}
	versions := readVersions(crd)
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if versions[i].err != nil {
			return nil, versions[i].err
		}
		merged, _ := withAtomicSets(versions[i].structural)
		internal, props := typing{omitDocs: true}.of(merged), &apiextensionsv1.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(internal, props, nil); err != nil {
			return nil, err
		}
		out.Spec.Versions = append(out.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: v.Name, Served: v.Served, Storage: v.Storage,
			Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning,
			Schema:                   &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props},
			Subresources:             v.Subresources,
			AdditionalPrinterColumns: v.AdditionalPrinterColumns,
			SelectableFields:         v.SelectableFields,
		})
	}
	return out, nil
}

package v1beta1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/definition"
)

// AddToScheme registers the form as apiextensions.k8s.io/v1beta1, its defaults
// and its conversion to and from the stored form.
func AddToScheme(scheme *runtime.Scheme) error {
	gv := schema.GroupVersion{Group: definition.GroupName, Version: definition.V1beta1}
	scheme.AddKnownTypes(gv, &CustomResourceDefinition{}, &CustomResourceDefinitionList{})
	metav1.AddToGroupVersion(scheme, gv)
	scheme.AddTypeDefaultingFunc(&CustomResourceDefinition{}, func(obj any) {
		SetDefaults(obj.(*CustomResourceDefinition))
	})
	scheme.AddTypeDefaultingFunc(&CustomResourceDefinitionList{}, func(obj any) {
		list := obj.(*CustomResourceDefinitionList)
		for i := range list.Items {
			SetDefaults(&list.Items[i])
		}
	})
	if err := scheme.AddConversionFunc((*CustomResourceDefinition)(nil), (*definition.CustomResourceDefinition)(nil), func(from, to any, _ conversion.Scope) error {
		*to.(*definition.CustomResourceDefinition) = *from.(*CustomResourceDefinition).ToStored()
		return nil
	}); err != nil {
		return err
	}
	if err := scheme.AddConversionFunc((*definition.CustomResourceDefinition)(nil), (*CustomResourceDefinition)(nil), func(from, to any, _ conversion.Scope) error {
		*to.(*CustomResourceDefinition) = *FromStored(from.(*definition.CustomResourceDefinition))
		return nil
	}); err != nil {
		return err
	}
	if err := scheme.AddConversionFunc((*CustomResourceDefinitionList)(nil), (*definition.CustomResourceDefinitionList)(nil), func(from, to any, _ conversion.Scope) error {
		in, out := from.(*CustomResourceDefinitionList), to.(*definition.CustomResourceDefinitionList)
		out.ListMeta, out.Items = in.ListMeta, make([]definition.CustomResourceDefinition, len(in.Items))
		for i := range in.Items {
			out.Items[i] = *in.Items[i].ToStored()
		}
		return nil
	}); err != nil {
		return err
	}
	return scheme.AddConversionFunc((*definition.CustomResourceDefinitionList)(nil), (*CustomResourceDefinitionList)(nil), func(from, to any, _ conversion.Scope) error {
		in, out := from.(*definition.CustomResourceDefinitionList), to.(*CustomResourceDefinitionList)
		out.ListMeta, out.Items = in.ListMeta, make([]CustomResourceDefinition, len(in.Items))
		for i := range in.Items {
			out.Items[i] = *FromStored(&in.Items[i])
		}
		return nil
	})
}

// SetDefaults fills in, as upstream does, the scope, the names that follow from
// others, the version where it can be told from Versions and the other way
// round, and the conversion. Pruning has no default here: what nothing is said
// about depends on what is stored, and definition.Write settles it.
func SetDefaults(crd *CustomResourceDefinition) {
	spec := &crd.Spec
	if spec.Scope == "" {
		spec.Scope = apiextensionsv1.NamespaceScoped
	}
	definition.SetNameDefaults(&spec.Names)
	if len(spec.Versions) == 0 && spec.Version != "" {
		spec.Versions = []CustomResourceDefinitionVersion{{Name: spec.Version, Served: true, Storage: true}}
	}
	if spec.Version == "" && len(spec.Versions) > 0 {
		spec.Version = spec.Versions[0].Name
	}
	if spec.Conversion == nil {
		spec.Conversion = &apiextensionsv1beta1.CustomResourceConversion{Strategy: apiextensionsv1beta1.NoneConverter}
	}
	if spec.Conversion.Strategy == apiextensionsv1beta1.WebhookConverter && len(spec.Conversion.ConversionReviewVersions) == 0 {
		spec.Conversion.ConversionReviewVersions = []string{definition.V1beta1}
	}
	if c := spec.Conversion.WebhookClientConfig; c != nil && c.Service != nil && c.Service.Port == nil {
		c.Service.Port = new(int32(443))
	}
	for _, v := range spec.Versions {
		if v.Storage && len(crd.Status.StoredVersions) == 0 {
			crd.Status.StoredVersions = []string{v.Name}
		}
	}
}

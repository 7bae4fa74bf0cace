package v1beta1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/definition"
)

// AddToScheme registers apiextensions.k8s.io/v1beta1, its defaults and its
// conversion to and from the stored form.
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
	return addConversions(scheme)
}

func addConversions(scheme *runtime.Scheme) error {
	type (
		beta       = CustomResourceDefinition
		betaList   = CustomResourceDefinitionList
		stored     = definition.CustomResourceDefinition
		storedList = definition.CustomResourceDefinitionList
	)
	for _, c := range []struct {
		from, to any
		convert  conversion.ConversionFunc
	}{
		{(*beta)(nil), (*stored)(nil), func(from, to any, _ conversion.Scope) error {
			*to.(*stored) = *from.(*beta).ToStored()
			return nil
		}},
		{(*stored)(nil), (*beta)(nil), func(from, to any, _ conversion.Scope) error {
			*to.(*beta) = *FromStored(from.(*stored))
			return nil
		}},
		{(*betaList)(nil), (*storedList)(nil), func(from, to any, _ conversion.Scope) error {
			in, out := from.(*betaList), to.(*storedList)
			in.ListMeta.DeepCopyInto(&out.ListMeta)
			out.Items = make([]stored, len(in.Items))
			for i := range in.Items {
				out.Items[i] = *in.Items[i].ToStored()
			}
			return nil
		}},
		{(*storedList)(nil), (*betaList)(nil), func(from, to any, _ conversion.Scope) error {
			in, out := from.(*storedList), to.(*betaList)
			in.ListMeta.DeepCopyInto(&out.ListMeta)
			out.Items = make([]beta, len(in.Items))
			for i := range in.Items {
				out.Items[i] = *FromStored(&in.Items[i])
			}
			return nil
		}},
	} {
		if err := scheme.AddConversionFunc(c.from, c.to, c.convert); err != nil {
			return err
		}
	}
	return nil
}

// SetDefaults sets the defaults that upstream sets: the scope, the names that
// follow from other names, Version from Versions and the other way round, and
// the conversion. It sets no default for pruning. That default depends on the
// stored definition, so definition.Write decides it.
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

package definition

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// SetDefaults fills in, as upstream does, the names that follow from others,
// the conversion strategy, the port of a webhook and the first stored version.
// It changes crd and leaves everything that is set as it is.
func SetDefaults(crd *CustomResourceDefinition) {
	SetNameDefaults(&crd.Spec.Names)
	if crd.Spec.Conversion == nil {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	if w := crd.Spec.Conversion.Webhook; w != nil && w.ClientConfig != nil && w.ClientConfig.Service != nil && w.ClientConfig.Service.Port == nil {
		w.ClientConfig.Service.Port = new(int32(443))
	}
	if len(crd.Status.StoredVersions) == 0 {
		noteStorageVersion(crd)
	}
}

// SetNameDefaults fills in the names that follow from the kind.
func SetNameDefaults(names *apiextensionsv1.CustomResourceDefinitionNames) {
	if names.Singular == "" {
		names.Singular = strings.ToLower(names.Kind)
	}
	if names.ListKind == "" && names.Kind != "" {
		names.ListKind = names.Kind + "List"
	}
}

package definition

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// SetDefaults sets the defaults that upstream sets: the names that follow from
// the kind, the conversion strategy, the port of a webhook and the first stored
// version. It changes crd, but no field that is set.
func SetDefaults(crd *CustomResourceDefinition) {
	SetNameDefaults(&crd.Spec.Names)
	if crd.Spec.Conversion == nil {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	if w := crd.Spec.Conversion.Webhook; w != nil && w.ClientConfig != nil {
		if s := w.ClientConfig.Service; s != nil && s.Port == nil {
			s.Port = new(int32(443))
		}
	}
	if len(crd.Status.StoredVersions) == 0 {
		recordStorageVersion(crd)
	}
}

// SetNameDefaults sets the names that follow from the kind.
func SetNameDefaults(names *apiextensionsv1.CustomResourceDefinitionNames) {
	if names.Singular == "" {
		names.Singular = strings.ToLower(names.Kind)
	}
	if names.ListKind == "" && names.Kind != "" {
		names.ListKind = names.Kind + "List"
	}
}

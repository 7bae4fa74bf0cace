package definition

import (
	"fmt"

	"k8s.io/apimachinery/pkg/version"
)

// DeprecationWarning returns the warning that the server adds to every response
// for a deprecated version. It is empty if the version is not deprecated. The
// definition may set the text. Otherwise it is upstream's text. That text names the
// served version with the highest priority that is not deprecated, if its priority
// is higher than that of the deprecated version.
func DeprecationWarning(crd *CustomResourceDefinition, name string) string {
	v := crd.Spec.Version(name)
	switch {
	case v == nil || !v.Deprecated:
		return ""
	case v.DeprecationWarning != nil:
		return *v.DeprecationWarning
	}
	group, kind := crd.Spec.Group, crd.Spec.Names.Kind
	warning := fmt.Sprintf("%s/%s %s is deprecated", group, name, kind)
	newest := name
	for _, other := range crd.Spec.Versions {
		if other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(other.Name, newest) > 0 {
			newest = other.Name
		}
	}
	if newest == name {
		return warning
	}
	return fmt.Sprintf("%s; use %s/%s %s", warning, group, newest, kind)
}

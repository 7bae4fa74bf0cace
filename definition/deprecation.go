package definition

import (
	"fmt"

	"k8s.io/apimachinery/pkg/version"
)

// DeprecationWarning is what every request for a deprecated version is answered
// with, empty for a version that is not: the words of the definition, or
// upstream's, which name the newest served version that is at least as stable.
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

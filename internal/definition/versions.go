package definition

import (
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// AlsoMarked returns the other versions with markers that may forbid an update that the markers of
// the named version allow. The storage version comes first. compiled has all versions of crd.
func AlsoMarked(crd *CustomResourceDefinition, compiled map[string]*Compiled, name string) []string {
	var others []string
	for i := range crd.Spec.Versions {
		spec := &crd.Spec.Versions[i]
		if spec.Name == name || compiled[spec.Name].Policy == nil || !spec.Served && !spec.Storage ||
			crd.Spec.ConvertsNothing() && compiled[name].impliesMarkersOf(compiled[spec.Name]) {
			continue
		}
		if spec.Storage {
			others = slices.Insert(others, 0, spec.Name)
		} else {
			others = append(others, spec.Name)
		}
	}
	return others
}

// impliesMarkersOf reports whether every update that the markers of c allow is also allowed by those
// of other, if objects are not converted between the two. Equal markers are not enough: below an
// immutable field one version may have fields that the other prunes.
func (c *Compiled) impliesMarkersOf(other *Compiled) bool {
	return c.Pruned == other.Pruned && c.Policy.Equal(other.Policy) &&
		reflect.DeepEqual(c.Skeleton.Schema(), other.Skeleton.Schema())
}

// ConvertsNothing reports whether objects of all versions differ only in their apiVersion.
func (s *CustomResourceDefinitionSpec) ConvertsNothing() bool {
	return s.Conversion == nil || s.Conversion.Strategy == apiextensionsv1.NoneConverter
}

package subresource

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ResetFields returns the result of rest.ResetFieldsStrategy: the fields that a write to an
// endpoint does not change, in each of the versions. A manager does not become the owner of
// these fields by a write to that endpoint.
func ResetFields(fields *fieldpath.Set, versions ...schema.GroupVersion) map[fieldpath.APIVersion]*fieldpath.Set {
	reset := make(map[fieldpath.APIVersion]*fieldpath.Set, len(versions))
	for _, version := range versions {
		reset[fieldpath.APIVersion(version.String())] = fields
	}
	return reset
}

// TopLevel returns a set of fields of the object itself, such as spec.
func TopLevel(names ...string) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, name := range names {
		set.Insert(fieldpath.MakePathOrDie(name))
	}
	return set
}

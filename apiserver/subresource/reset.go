package subresource

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ResetFields is the answer of a rest.ResetFieldsStrategy: the fields that a write
// to an endpoint leaves alone, in each of the versions. No manager comes to own them
// by writing there.
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

package fields

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// Recorder records which manager owns which field, for the writes to one endpoint. It is safe for concurrent use. A manager is the name
// that the library records. No error contains a value of a stored object.
type Recorder interface {
	// IsWritten reports whether a write to the endpoint can change a top-level field.
	IsWritten(name string) bool
	// Create returns a new object with the fields of the manager that creates it. It may change the object and return it.
	Create(obj *object.Object, manager string) *object.Object
	// Update returns an updated object with its managed fields. It may change the updated object and return it. It does not change the
	// stored one, but the result may share values with it.
	Update(stored, updated *object.Object, manager string) *object.Object
	// Apply merges an applied configuration into the stored object. A nil object stands for an empty one of the kind. Apply changes
	// neither the object nor the configuration. The result may share values with the object.
	Apply(stored *object.Object, applied Configuration) (*object.Object, error)
}

// Configuration is what a server-side apply sends.
type Configuration struct {
	Content map[string]any
	Manager string
	// Force lets the manager take fields from other managers.
	Force bool
}

// Endpoint identifies the endpoint of a version: its objects, or a subresource of them.
type Endpoint struct {
	Version *kind.Version
	// Subresource is empty for the objects, and "status" for their status.
	Subresource string
}

// IsWritten reports whether a write to the endpoint can change a top-level field.
func (e Endpoint) IsWritten(name string) bool {
	if e.Subresource == status {
		return name == status
	}
	return name != status || !e.Version.Compiled.HasStatus()
}

// written returns filters that leave only the fields that a write to the endpoint can change. Other versions have them too: a write
// through one version does not change the owners of fields that were written through another.
func (e Endpoint) written() map[fieldpath.APIVersion]fieldpath.Filter {
	var filter fieldpath.Filter
	switch {
	case e.Subresource == status:
		filter = fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie(status))
	case e.Version.Compiled.HasStatus():
		filter = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie(status)))
	default:
		return nil
	}
	filters := make(map[fieldpath.APIVersion]fieldpath.Filter, len(e.Version.Kind.Versions))
	for _, version := range e.Version.Kind.Versions {
		filters[fieldpath.APIVersion(version.GroupVersion().String())] = filter
	}
	return filters
}

// status is the subresource, and the field that it writes.
const status = "status"

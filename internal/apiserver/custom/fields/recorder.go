package fields

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// Recorder records which manager owns which field, for the writes to one endpoint. It is safe for concurrent use. A manager is the name
// that the library records. No error contains a value of a stored object.
type Recorder interface {
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
	// Subresource is empty for the objects.
	Subresource string
	// Reset are the fields that a write to the endpoint does not change.
	Reset map[fieldpath.APIVersion]*fieldpath.Set
}

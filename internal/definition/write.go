package definition

import "slices"

// Write is a request that creates or updates a definition.
type Write struct {
	// APIVersion is the version of the request, V1 or V1beta1.
	APIVersion string
	// Old is the stored definition, or nil if the request creates one.
	Old *CustomResourceDefinition
}

// Prepare changes the definition of a request to the one that the server stores.
// It keeps the stored status, sets the generation, adds the storage version to
// storedVersions, encodes the schemas in one way, and sets the pruning flags of
// the stored form. Call it before Validate.
func (w Write) Prepare(crd *CustomResourceDefinition) {
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema.canonicalize()
	}
	w.setPruning(crd)
	if w.Old == nil {
		crd.Status = CustomResourceDefinitionStatus{}
		crd.Generation = 1
	} else {
		w.Old.Status.DeepCopyInto(&crd.Status)
		crd.Generation = w.Old.Generation
		if !SameSpec(&w.Old.Spec, &crd.Spec) {
			crd.Generation++
		}
	}
	recordStorageVersion(crd)
	crd.Status.Skeletons = Skeletons(crd)
}

// PrepareStatus changes the definition of a request for the status subresource to
// the one that the server stores. It keeps the stored spec and the skeletons,
// which follow from the spec. As upstream does, it lets metadata change.
func (w Write) PrepareStatus(crd *CustomResourceDefinition) {
	w.Old.Spec.DeepCopyInto(&crd.Spec)
	crd.Generation = w.Old.Generation
	crd.Status.Skeletons = w.Old.Status.DeepCopy().Skeletons
}

// recordStorageVersion adds the storage version to status.storedVersions.
func recordStorageVersion(crd *CustomResourceDefinition) {
	name := crd.Spec.StorageVersion()
	if name != "" && !slices.Contains(crd.Status.StoredVersions, name) {
		crd.Status.StoredVersions = append(crd.Status.StoredVersions, name)
	}
}

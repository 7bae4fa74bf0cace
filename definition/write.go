package definition

import (
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// Write is a request that creates or changes a definition.
type Write struct {
	// APIVersion is the version of the request, V1 or V1beta1.
	APIVersion string
	// Old is the definition as it is stored, nil when it is created.
	Old *CustomResourceDefinition
}

// Prepare makes a definition that came in a request the one to be stored: the
// status and the generation are the server's, storedVersions holds the storage
// version, schemas are written in one way, and the pruning flags are settled.
// It changes crd. Validate comes after it.
func (w Write) Prepare(crd *CustomResourceDefinition) {
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema.canonicalize()
	}
	w.settlePruning(crd)
	if w.Old == nil {
		crd.Status = CustomResourceDefinitionStatus{}
		crd.Generation = 1
	} else {
		w.Old.Status.DeepCopyInto(&crd.Status)
		crd.Generation = w.Old.Generation
		if !apiequality.Semantic.DeepEqual(w.Old.Spec, crd.Spec) {
			crd.Generation++
		}
	}
	noteStorageVersion(crd)
	crd.Status.Skeletons = Skeletons(crd)
}

// PrepareStatus makes crd, which came in a request for the status, the
// definition to be stored. The spec stays, and with it the skeletons, which
// follow from it; metadata may change, as upstream lets it. It changes crd.
func (w Write) PrepareStatus(crd *CustomResourceDefinition) {
	w.Old.Spec.DeepCopyInto(&crd.Spec)
	crd.Generation = w.Old.Generation
	crd.Status.Skeletons = w.Old.Status.DeepCopy().Skeletons
}

// noteStorageVersion adds the storage version to those that objects may be
// stored in.
func noteStorageVersion(crd *CustomResourceDefinition) {
	name := crd.Spec.StorageVersion()
	if name != "" && !slices.Contains(crd.Status.StoredVersions, name) {
		crd.Status.StoredVersions = append(crd.Status.StoredVersions, name)
	}
}

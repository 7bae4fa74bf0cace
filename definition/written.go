package definition

// AsWritten makes a definition that was written down in an API version what is
// stored of it, as far as the writing goes: schemas lose what are no keywords, whose
// paths are returned, and the pruning flags of versions are settled where any are
// given. Nothing is filled in. It changes crd.
func AsWritten(crd *CustomResourceDefinition, apiVersion string) (unknown []string) {
	unknown = DropUnknown(crd)
	spec := &crd.Spec
	said := spec.PreserveUnknownFields
	if said == nil && spec.Prune != nil {
		said = new(!*spec.Prune)
	}
	settles := said != nil
	for i := range spec.Versions {
		settles = settles || spec.Versions[i].Prune != nil
	}
	if !settles {
		return unknown
	}
	Write{APIVersion: apiVersion}.settlePruning(crd)
	if spec.PreserveUnknownFields == nil {
		// On is stored as nothing, and yet somebody said it.
		spec.PreserveUnknownFields = said
	}
	return unknown
}

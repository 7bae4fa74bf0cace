package definition

// AsWritten changes a definition from a client's configuration, such as its
// last-applied annotation, to the form in which the server stores the same
// fields. It removes the keys of schemas that are not keywords and returns their
// paths. If the configuration has a pruning flag, it sets the flags of the stored
// form. It sets no defaults.
func AsWritten(crd *CustomResourceDefinition, apiVersion string) (unknown []string) {
	unknown = DropUnknown(crd)
	spec := &crd.Spec
	preserve := spec.PreserveUnknownFields
	if preserve == nil && spec.Prune != nil {
		preserve = new(!*spec.Prune)
	}
	hasFlag := preserve != nil
	for i := range spec.Versions {
		hasFlag = hasFlag || spec.Versions[i].Prune != nil
	}
	if !hasFlag {
		return unknown
	}
	Write{APIVersion: apiVersion}.setPruning(crd)
	if spec.PreserveUnknownFields == nil {
		// The stored form omits the flag if pruning is on. Keep it here, because the
		// client set it explicitly.
		spec.PreserveUnknownFields = preserve
	}
	return unknown
}

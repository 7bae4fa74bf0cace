package definition

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/schema"
)

// Pruned reports whether the server drops the fields of a version's objects that
// the schema does not specify. It expects a definition that Prepare has
// processed.
func (s *CustomResourceDefinitionSpec) Pruned(version string) bool {
	if v := s.Version(version); v != nil && v.Prune != nil {
		return *v.Prune
	}
	return !schema.IsTrue(s.PreserveUnknownFields) && (s.Prune == nil || *s.Prune)
}

// PrunedAnywhere reports whether pruning is on in any version.
func (s *CustomResourceDefinitionSpec) PrunedAnywhere() bool {
	for _, v := range s.Versions {
		if s.Pruned(v.Name) {
			return true
		}
	}
	return false
}

// PrunedEverywhere reports whether pruning is on in all versions.
func (s *CustomResourceDefinitionSpec) PrunedEverywhere() bool {
	for _, v := range s.Versions {
		if !s.Pruned(v.Name) {
			return false
		}
	}
	return true
}

// setPruning replaces the pruning flags of a request with those of the stored form.
// It decides for each version whether it is pruned, see pruned, and then sets as few
// flags as possible. If validatePruning returns errors, setPruning changes nothing,
// so that the errors name the fields that the client wrote.
func (w Write) setPruning(crd *CustomResourceDefinition) {
	if len(w.validatePruning(crd)) > 0 {
		return
	}
	spec := &crd.Spec
	off, on := 0, 0
	for i := range spec.Versions {
		pruned := w.pruned(spec, &spec.Versions[i])
		spec.Versions[i].Prune = new(pruned)
		if pruned {
			on++
		} else {
			off++
		}
	}
	spec.Prune, spec.PreserveUnknownFields = nil, nil
	if on == 0 && off > 0 {
		spec.PreserveUnknownFields = new(true)
	}
	for i := range spec.Versions {
		if v := &spec.Versions[i]; *v.Prune || on == 0 {
			v.Prune = nil
		}
	}
}

// pruned reports whether the version is pruned after the write. If the request has
// no flag for the version or for all versions, the stored definition decides.
func (w Write) pruned(spec *CustomResourceDefinitionSpec, v *CustomResourceDefinitionVersion) bool {
	switch {
	case v.Prune != nil:
		return *v.Prune
	case spec.Prune != nil:
		return *spec.Prune
	case spec.PreserveUnknownFields != nil:
		return !*spec.PreserveUnknownFields
	case w.Old != nil && w.Old.Spec.Version(v.Name) != nil:
		return w.Old.Spec.Pruned(v.Name)
	}
	// A new version without a flag: v1 prunes by default, v1beta1 does not unless all
	// stored versions are pruned.
	return w.APIVersion != V1beta1 || w.Old != nil && w.Old.Spec.PrunedEverywhere()
}

// validatePruning reports flags that contradict each other, and flags that turn
// pruning off where v1 does not allow it.
func (w Write) validatePruning(crd *CustomResourceDefinition) field.ErrorList {
	spec, path := &crd.Spec, field.NewPath("spec")
	var errs field.ErrorList
	contradiction := func(path *field.Path, value *bool, other string, otherValue bool) {
		errs = append(errs, field.Invalid(path, *value, "contradicts "+other+": "+strconv.FormatBool(otherValue)))
	}
	if spec.Prune != nil && spec.PreserveUnknownFields != nil && *spec.Prune == *spec.PreserveUnknownFields {
		contradiction(path.Child("prune"), spec.Prune, "spec.preserveUnknownFields", *spec.PreserveUnknownFields)
	}
	for i, v := range spec.Versions {
		at := path.Child("versions").Index(i).Child("prune")
		switch {
		case v.Prune == nil:
		case spec.Prune != nil && *v.Prune != *spec.Prune:
			contradiction(at, v.Prune, "spec.prune", *spec.Prune)
		case spec.PreserveUnknownFields != nil && *v.Prune == *spec.PreserveUnknownFields:
			contradiction(at, v.Prune, "spec.preserveUnknownFields", *spec.PreserveUnknownFields)
		}
	}
	if len(errs) == 0 && w.APIVersion != V1beta1 {
		errs = w.forbidUnpruned(spec)
	}
	return errs
}

// forbidUnpruned refuses flags that turn pruning off. Only a write through v1beta1
// can turn pruning off. Versions that are not pruned may stay so.
func (w Write) forbidUnpruned(spec *CustomResourceDefinitionSpec) field.ErrorList {
	const instead = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
	path := field.NewPath("spec")
	var errs field.ErrorList
	if w.Old != nil && len(w.Old.Spec.Versions) > 0 && !w.Old.Spec.PrunedAnywhere() {
		// Pruning is off in all stored versions. It may stay off, in new versions too.
		return nil
	}
	if schema.IsTrue(spec.PreserveUnknownFields) {
		errs = append(errs, field.Invalid(path.Child("preserveUnknownFields"), true, "cannot set to true, "+instead))
	}
	if spec.Prune != nil && !*spec.Prune {
		errs = append(errs, field.Invalid(path.Child("prune"), false, "cannot set to false, "+instead))
	}
	for i, v := range spec.Versions {
		offBefore := w.Old != nil && w.Old.Spec.Version(v.Name) != nil && !w.Old.Spec.Pruned(v.Name)
		if v.Prune != nil && !*v.Prune && !offBefore {
			at := path.Child("versions").Index(i).Child("prune")
			errs = append(errs, field.Invalid(at, false, "cannot set to false, "+instead))
		}
	}
	return errs
}

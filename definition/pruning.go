package definition

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/schema"
)

// Pruned says whether objects of a version lose the fields that its schema does
// not specify. It reads the stored form, as Prepare leaves it.
func (s *CustomResourceDefinitionSpec) Pruned(version string) bool {
	if v := s.Version(version); v != nil && v.Prune != nil {
		return *v.Prune
	}
	return !schema.IsTrue(s.PreserveUnknownFields) && (s.Prune == nil || *s.Prune)
}

// PrunedAnywhere says whether pruning is on in any version.
func (s *CustomResourceDefinitionSpec) PrunedAnywhere() bool {
	for _, v := range s.Versions {
		if s.Pruned(v.Name) {
			return true
		}
	}
	return false
}

// PrunedEverywhere says whether pruning is on in all versions.
func (s *CustomResourceDefinitionSpec) PrunedEverywhere() bool {
	for _, v := range s.Versions {
		if !s.Pruned(v.Name) {
			return false
		}
	}
	return true
}

// settlePruning turns what a request says about pruning into the stored form:
// one flag per version, of which v1 shows as little as possible. What the
// request does not say stays as it was. A request that Validate refuses for its
// flags is left as it is, so that the errors name what was written.
func (w Write) settlePruning(crd *CustomResourceDefinition) {
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

// pruned is the flag of a version after the write.
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
	// A version that nobody has said anything about.
	return w.APIVersion != V1beta1 || w.Old != nil && w.Old.Spec.PrunedEverywhere()
}

// validatePruning reports flags that contradict each other, and pruning that is
// switched off where v1 does not allow it.
func (w Write) validatePruning(crd *CustomResourceDefinition) field.ErrorList {
	spec, path := &crd.Spec, field.NewPath("spec")
	var errs field.ErrorList
	contradiction := func(path *field.Path, value *bool, other string, said bool) {
		errs = append(errs, field.Invalid(path, *value, "contradicts "+other+": "+text(said)))
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
		errs = w.refuseUnpruned(spec)
	}
	return errs
}

// refuseUnpruned refuses to switch pruning off, which only v1beta1 can.
func (w Write) refuseUnpruned(spec *CustomResourceDefinitionSpec) field.ErrorList {
	const instead = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
	path := field.NewPath("spec")
	var errs field.ErrorList
	if w.Old != nil && len(w.Old.Spec.Versions) > 0 && !w.Old.Spec.PrunedAnywhere() {
		// It is off as a whole and may stay so, new versions included.
		return nil
	}
	if schema.IsTrue(spec.PreserveUnknownFields) {
		errs = append(errs, field.Invalid(path.Child("preserveUnknownFields"), true, "cannot set to true, "+instead))
	}
	if spec.Prune != nil && !*spec.Prune {
		errs = append(errs, field.Invalid(path.Child("prune"), false, "cannot set to false, "+instead))
	}
	for i, v := range spec.Versions {
		stays := w.Old != nil && w.Old.Spec.Version(v.Name) != nil && !w.Old.Spec.Pruned(v.Name)
		if v.Prune != nil && !*v.Prune && !stays {
			errs = append(errs, field.Invalid(path.Child("versions").Index(i).Child("prune"), false, "cannot set to false, "+instead))
		}
	}
	return errs
}

func text(flag bool) string {
	if flag {
		return "true"
	}
	return "false"
}

package definition

import (
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// AcceptNames decides which of the names that a definition asks for it gets.
// Names that it has it keeps; others it gets if no definition of its group has
// them. all may hold any definitions, crd itself included. It returns the names
// to be set as status.acceptedNames, and the conditions NamesAccepted and
// Established that follow, with upstream's reasons and messages; Established
// becomes true later, when the resource is served, see Establish.
func AcceptNames(crd *CustomResourceDefinition, all []*CustomResourceDefinition) (
	accepted apiextensionsv1.CustomResourceDefinitionNames,
	namesAccepted, established apiextensionsv1.CustomResourceDefinitionCondition,
) {
	resources, kinds := takenNames(crd, all)
	want, have := crd.Spec.Names, crd.Status.AcceptedNames
	have.DeepCopyInto(&accepted)
	namesAccepted = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts", "no conflicts found")
	take := func(reason, name string, held *string, taken map[string]bool) {
		if err := conflicts([]string{name}, []string{*held}, taken); err != nil {
			namesAccepted = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, reason, err.Error())
			return
		}
		*held = name
	}
	take("PluralConflict", want.Plural, &accepted.Plural, resources)
	take("SingularConflict", want.Singular, &accepted.Singular, resources)
	if err := conflicts(want.ShortNames, have.ShortNames, resources); err != nil {
		namesAccepted = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, "ShortNamesConflict", err.Error())
	} else {
		accepted.ShortNames = slices.Clone(want.ShortNames)
	}
	// Of several conflicts the last is told, as upstream does.
	take("KindConflict", want.Kind, &accepted.Kind, kinds)
	take("ListKindConflict", want.ListKind, &accepted.ListKind, kinds)
	accepted.Categories = slices.Clone(want.Categories)
	return accepted, namesAccepted, establishedAfter(crd, namesAccepted)
}

func establishedAfter(crd *CustomResourceDefinition, namesAccepted apiextensionsv1.CustomResourceDefinitionCondition) apiextensionsv1.CustomResourceDefinitionCondition {
	out := condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted")
	if old := FindCondition(crd, apiextensionsv1.Established); old != nil {
		out = *old
	}
	if out.Status != apiextensionsv1.ConditionTrue && namesAccepted.Status == apiextensionsv1.ConditionTrue {
		out = condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "Installing", "the initial names have been accepted")
	}
	return out
}

// takenNames are the names that definitions of the same group have.
func takenNames(crd *CustomResourceDefinition, all []*CustomResourceDefinition) (resources, kinds map[string]bool) {
	resources, kinds = map[string]bool{}, map[string]bool{}
	for _, other := range all {
		if other.Spec.Group != crd.Spec.Group {
			continue
		}
		names := other.Status.AcceptedNames
		for _, name := range append([]string{names.Plural, names.Singular}, names.ShortNames...) {
			resources[name] = true
		}
		kinds[names.Kind], kinds[names.ListKind] = true, true
	}
	return resources, kinds
}

// conflicts is an error for each name that is wanted, not had, and taken.
func conflicts(want, have []string, taken map[string]bool) error {
	var errs []error
	for _, name := range want {
		if !slices.Contains(have, name) && taken[name] {
			errs = append(errs, fmt.Errorf("%q is already in use", name))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	// The message of several is upstream's.
	return errors.New(utilerrors.NewAggregate(errs).Error())
}

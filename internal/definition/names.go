package definition

import (
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// AcceptNames decides which names of spec.names the definition gets. It accepts a
// name if crd has it in status.acceptedNames already, or if no definition of the
// same group has it. If it does not accept a name, crd keeps the name that it has in
// status.acceptedNames. all may contain definitions of any group, and crd itself.
//
// It returns the new status.acceptedNames and the conditions NamesAccepted and
// Established, with upstream's reasons and messages. Established becomes True
// later, see Establish.
func AcceptNames(crd *CustomResourceDefinition, all []*CustomResourceDefinition) (
	accepted apiextensionsv1.CustomResourceDefinitionNames,
	namesAccepted, established apiextensionsv1.CustomResourceDefinitionCondition,
) {
	resources, kinds := takenNames(crd, all)
	want, have := crd.Spec.Names, crd.Status.AcceptedNames
	have.DeepCopyInto(&accepted)
	namesAccepted = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts", "no conflicts found")
	accept := func(reason, name string, current *string, taken map[string]bool) {
		if err := conflicts([]string{name}, []string{*current}, taken); err != nil {
			namesAccepted = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, reason, err.Error())
			return
		}
		*current = name
	}
	accept("PluralConflict", want.Plural, &accepted.Plural, resources)
	accept("SingularConflict", want.Singular, &accepted.Singular, resources)
	if err := conflicts(want.ShortNames, have.ShortNames, resources); err != nil {
		namesAccepted = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, "ShortNamesConflict", err.Error())
	} else {
		accepted.ShortNames = slices.Clone(want.ShortNames)
	}
	// The condition reports the last of several conflicts, as upstream's does.
	accept("KindConflict", want.Kind, &accepted.Kind, kinds)
	accept("ListKindConflict", want.ListKind, &accepted.ListKind, kinds)
	accepted.Categories = slices.Clone(want.Categories)
	return accepted, namesAccepted, establishedAfter(crd, namesAccepted)
}

// establishedAfter returns the condition Established that goes with the new
// condition NamesAccepted. A definition that is established stays so.
func establishedAfter(
	crd *CustomResourceDefinition, namesAccepted apiextensionsv1.CustomResourceDefinitionCondition,
) apiextensionsv1.CustomResourceDefinitionCondition {
	out := condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted")
	if old := FindCondition(crd, apiextensionsv1.Established); old != nil {
		out = *old
	}
	if out.Status != apiextensionsv1.ConditionTrue && namesAccepted.Status == apiextensionsv1.ConditionTrue {
		out = condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "Installing", "the initial names have been accepted")
	}
	return out
}

// takenNames returns the accepted names of all definitions of the same group.
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

// conflicts returns an error that lists each name in want that is taken and not
// in have.
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
	// Upstream formats several errors with this aggregate.
	return errors.New(utilerrors.NewAggregate(errs).Error())
}

package policy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns what is wrong with a policy, whatever resources the server has: rules that cannot be read, modes and selectors.
func (p *ImmutabilityPolicy) Validate() field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if len(p.Spec.Resources) == 0 {
		errs = append(errs, field.Required(spec.Child("resources"), "name at least one resource"))
	}
	if len(p.Spec.Rules)+len(p.Spec.StructuredRules) == 0 {
		errs = append(errs, field.Required(spec.Child("rules"), "a policy has rules or structuredRules"))
	}
	errs = append(errs, validateMode(spec.Child("mode"), p.Spec.Mode)...)
	for i, rule := range p.Spec.StructuredRules {
		errs = append(errs, validateMode(spec.Child("structuredRules").Index(i).Child("mode"), rule.Mode)...)
	}
	_, wrong := p.rules()
	errs = append(errs, wrong...)
	for _, selector := range []struct {
		name  string
		value *metav1.LabelSelector
	}{{"namespaceSelector", p.Spec.NamespaceSelector}, {"objectSelector", p.Spec.ObjectSelector}} {
		if _, err := metav1.LabelSelectorAsSelector(selector.value); err != nil {
			errs = append(errs, field.Invalid(spec.Child(selector.name), field.OmitValueType{}, err.Error()))
		}
	}
	return errs
}

// validateMode checks a mode. The schema of the kind does too, but a policy in a file is not checked with it.
func validateMode(at *field.Path, mode string) field.ErrorList {
	if modes := []string{Enforce, Warn}; mode != "" && !slices.Contains(modes, mode) {
		return field.ErrorList{field.NotSupported(at, mode, modes)}
	}
	return nil
}

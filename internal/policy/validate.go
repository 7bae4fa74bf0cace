package policy

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
)

// place returns the path of a rule in lines.
func (p *ImmutabilityPolicy) place(i int) *field.Path {
	if own := len(p.Spec.Rules); i >= own {
		return field.NewPath("spec", "structuredRules").Index(i - own)
	}
	return field.NewPath("spec", "rules").Index(i)
}

// Validate returns what is wrong with a policy, whatever resources the server has: rules that cannot be read, and selectors.
func (p *ImmutabilityPolicy) Validate() field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if len(p.Spec.Rules)+len(p.Spec.StructuredRules) == 0 {
		errs = append(errs, field.Required(spec.Child("rules"), "a policy has rules or structuredRules"))
	}
	for i, line := range p.lines() {
		at, value := p.place(i), line
		_, rule := p.split(line)
		if marks, err := immutability.ParseMarks(rule); err != nil {
			errs = append(errs, field.Invalid(at, value, strings.TrimPrefix(err.Error(), "line 1: ")))
		} else if len(marks) == 0 {
			errs = append(errs, field.Invalid(at, value, "not a rule"))
		}
	}
	for name, selector := range map[string]*metav1.LabelSelector{
		"namespaceSelector": p.Spec.NamespaceSelector, "objectSelector": p.Spec.ObjectSelector,
	} {
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			errs = append(errs, field.Invalid(spec.Child(name), field.OmitValueType{}, err.Error()))
		}
	}
	return errs
}

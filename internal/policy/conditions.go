package policy

import (
	"context"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/while"
)

// ConditionErrors compiles the conditions of a policy for the resources that have their fields, and returns what is wrong. It leaves
// out rules that cannot be read, and resources that the server does not have: their conditions are compiled when they are installed.
func (c Compiler) ConditionErrors(ctx context.Context, policy *ImmutabilityPolicy) (field.ErrorList, error) {
	var errs field.ErrorList
	all, _ := policy.rules()
	for _, rule := range all {
		if rule.mark.While == "" {
			continue
		}
		for _, text := range policy.Spec.Resources {
			problem, err := c.conditionProblem(ctx, runtimeschema.ParseGroupResource(text), rule.mark)
			if err != nil {
				return nil, err
			}
			if problem != "" {
				errs = append(errs, rule.wrongCondition(text+": "+problem))
			}
		}
	}
	return errs, nil
}

// conditionProblem returns what is wrong with the condition of a mark for a resource.
func (c Compiler) conditionProblem(ctx context.Context, name runtimeschema.GroupResource, m immutability.Mark) (string, error) {
	crd, err := c.Server.Definition(ctx, name.String())
	if err != nil {
		return "", err
	}
	if crd != nil {
		return definedProblem(crd, m), nil
	}
	served, err := c.Server.Published(ctx, name)
	if err != nil || served == nil {
		return "", err
	}
	s, err := served.Schema()
	if err != nil || !m.In(served.Kind.Version) || !m.IsNoDelete() && !m.IsMetadata() && m.SchemaNode(s) == nil {
		return "", err
	}
	if _, wrong := while.ForBuiltIn(s, m.While); wrong != nil {
		return wrong.Error(), nil //nolint:nilerr // the error is the answer
	}
	return "", nil
}

// definedProblem returns the error that a definition with the mark has, and one with the mark without its condition has not.
func definedProblem(crd *definition.CustomResourceDefinition, m immutability.Mark) string {
	always := m
	always.While = ""
	if len(withMarks(crd, []immutability.Mark{always}).AnnotationErrors()) > 0 {
		return "" // the status of the policy says what is wrong
	}
	for _, e := range withMarks(crd, []immutability.Mark{m}).AnnotationErrors() {
		return e.Detail
	}
	return ""
}

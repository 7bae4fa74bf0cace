package rules

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
)

func mutatingPolicy(r *report, s *admissionv1.MutatingAdmissionPolicySpec) {
	if s.MatchConstraints != nil {
		r.under(func() { mutatedOperations(r, s.MatchConstraints) }, "matchConstraints")
	}
	matchConditions(r, compilation{Compiler: webhookCompiler().Compiler, params: s.ParamKind != nil}, s.MatchConditions)
	c, ok := policyCompiler(r, s.ParamKind, s.Variables)
	if !ok {
		return
	}
	for i := range s.Mutations {
		r.under(func() { mutation(r, c, &s.Mutations[i]) }, "mutations", i)
	}
}

// mutatedOperations rejects DELETE. As in Kubernetes, the path of an error has no index.
func mutatedOperations(r *report, m *admissionv1.MatchResources) {
	mutated := []string{"*", "CONNECT", "CREATE", "UPDATE"}
	for _, rule := range m.ResourceRules {
		for _, operation := range rule.Operations {
			if !slices.Contains(mutated, string(operation)) {
				r.unsupported(operation, mutated, "resourceRules", "operations")
			}
		}
	}
}

// mutation checks that a mutation has the field of its patch type, with a valid expression, and not that of the other type.
func mutation(r *report, c compilation, m *admissionv1.Mutation) {
	patches := []struct {
		kind       admissionv1.PatchType
		field      string
		expression cel.ExpressionAccessor // nil if the field is not set
	}{
		{kind: admissionv1.PatchTypeApplyConfiguration, field: "applyConfiguration"}, {kind: admissionv1.PatchTypeJSONPatch, field: "jsonPatch"},
	}
	if m.ApplyConfiguration != nil {
		patches[0].expression = &patch.ApplyConfigurationCondition{Expression: strings.TrimSpace(m.ApplyConfiguration.Expression)}
	}
	if m.JSONPatch != nil {
		patches[1].expression = &patch.JSONPatchCondition{Expression: strings.TrimSpace(m.JSONPatch.Expression)}
	}
	if m.PatchType != patches[0].kind && m.PatchType != patches[1].kind {
		return // another check rejects the type
	}
	options := c.options()
	options.HasPatchTypes = true
	for _, p := range patches {
		switch {
		case p.kind != m.PatchType && p.expression != nil:
			r.invalid("{"+p.field+"}", fmt.Sprintf("must not be specified when patchType is %s", m.PatchType), p.field)
		case p.kind != m.PatchType:
		case p.expression == nil:
			r.required(fmt.Sprintf("must be specified when patchType is %s", m.PatchType), p.field)
		case p.expression.GetExpression() == "":
			r.required("", p.field, "expression")
		default:
			r.compiled(c.CompileCELExpression(p.expression, options, r.mode(p.expression.GetExpression())), p.field, "expression")
		}
	}
}

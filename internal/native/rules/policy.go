package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/cel/environment"
)

func policyRules() []rule {
	return []rule{
		require[admissionv1.ValidatingAdmissionPolicySpec]("matchConstraints", ""),
		onField[admissionv1.ValidatingAdmissionPolicySpec]("matchConstraints", matchConstraints),
		onStruct(validatingPolicy),
		notRequired[admissionv1.Validation]("expression"),
		oneOf[admissionv1.Validation]("reason", "Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"),
		onField[admissionv1.Validation]("message", func(r *report, s string) {
			if strings.ContainsAny(s, "\r\n") {
				r.invalid(s, "message must not contain line breaks")
			}
		}),
		notRequired[admissionv1.Variable]("name"),
		notRequired[admissionv1.Variable]("expression"),

		require[admissionv1.MutatingAdmissionPolicySpec]("matchConstraints", ""),
		onField[admissionv1.MutatingAdmissionPolicySpec]("matchConstraints", matchConstraints),
		require[admissionv1.MutatingAdmissionPolicySpec]("mutations", "mutations must contain at least one item"),
		onStruct(mutatingPolicy),

		require[admissionv1.ParamKind]("apiVersion", ""),
		onField[admissionv1.ParamKind]("apiVersion", func(r *report, s string) {
			if _, err := schema.ParseGroupVersion(s); err != nil {
				r.invalid(s, err.Error())
			}
		}),
		require[admissionv1.ParamKind]("kind", ""),
		onField[admissionv1.ParamKind]("kind", func(r *report, s string) {
			if messages := validation.IsDNS1035Label(strings.ToLower(s)); s != "" && len(messages) > 0 {
				r.invalid(s, "may have mixed case, but should otherwise match: "+strings.Join(messages, ","))
			}
		}),

		onField[admissionv1.ValidatingAdmissionPolicyBindingSpec]("policyName", dnsSubdomain),
		onField[admissionv1.ValidatingAdmissionPolicyBindingSpec]("validationActions", validationActions),
		require[admissionv1.MutatingAdmissionPolicyBindingSpec]("policyName", ""),
		onField[admissionv1.MutatingAdmissionPolicyBindingSpec]("policyName", dnsSubdomain),
		require[admissionv1.ParamRef]("parameterNotFoundAction", ""),
		oneOf[admissionv1.ParamRef]("parameterNotFoundAction", "Allow", "Deny"),
		onStruct(func(r *report, p *admissionv1.ParamRef) {
			switch {
			case p.Name != "" && p.Selector != nil:
				r.forbidden("name and selector are mutually exclusive", "name")
			case p.Name == "" && p.Selector == nil:
				r.required("one of name or selector must be specified")
			}
		}),
	}
}

func matchConstraints(r *report, m admissionv1.MatchResources) {
	if len(m.ResourceRules) == 0 {
		r.required("", "resourceRules")
	}
}

func validationActions(r *report, actions []admissionv1.ValidationAction) {
	for i, a := range actions {
		if slices.Contains(actions[:i], a) {
			r.duplicate(string(a), i)
		}
	}
	if slices.Contains(actions, admissionv1.Deny) && slices.Contains(actions, admissionv1.Warn) {
		r.invalid(actions, "must not contain both Deny and Warn "+
			"(repeating the same validation failure information in the API response and headers serves no purpose)")
	}
}

// policyCompiler returns a compiler for one policy. Its environment contains the variables of the policy, so it cannot be
// shared. Creating it takes milliseconds.
func policyCompiler(r *report, params *admissionv1.ParamKind, variables []admissionv1.Variable) (compilation, bool) {
	composite, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		r.add(field.ErrorList{field.InternalError(r.path("variables"), err)})
		return compilation{}, false
	}
	c := compilation{Compiler: composite, params: params != nil}
	for i, v := range variables {
		variable(r, variables[:i], v, i)
		if strings.TrimSpace(v.Expression) == "" || !identifier.MatchString(v.Name) {
			continue
		}
		e := &expression{name: v.Name, text: v.Expression, types: []*celgo.Type{celgo.AnyType, celgo.DynType}}
		r.compiled(composite.CompileAndStoreVariable(e, c.options(), r.mode()), "variables", i, "expression")
	}
	return c, true
}

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

func variable(r *report, before []admissionv1.Variable, v admissionv1.Variable, i int) {
	switch {
	case strings.TrimSpace(v.Name) == "":
		r.required("name is not specified", "variables", i, "name")
	case !identifier.MatchString(v.Name):
		r.invalid(v.Name, "must be a valid CEL identifier", "variables", i, "name")
	case slices.ContainsFunc(before, func(o admissionv1.Variable) bool { return o.Name == v.Name }):
		r.duplicate(v.Name, "variables", i, "name")
	}
	if strings.TrimSpace(v.Expression) == "" {
		r.required("expression is not specified", "variables", i, "expression")
	}
}

func validatingPolicy(r *report, s *admissionv1.ValidatingAdmissionPolicySpec) {
	if len(s.Validations)+len(s.AuditAnnotations) == 0 {
		r.required("validations or auditAnnotations must contain at least one item", "validations")
	}
	if len(s.Variables)+len(s.MatchConditions)+len(s.Validations)+len(s.AuditAnnotations) == 0 {
		return
	}
	c, ok := policyCompiler(r, s.ParamKind, s.Variables)
	if !ok {
		return
	}
	matchConditions(r, c, s.MatchConditions)
	text := []*celgo.Type{celgo.StringType}
	for i, v := range s.Validations {
		if strings.TrimSpace(v.Expression) == "" {
			r.required("expression is not specified", "validations", i, "expression")
		} else {
			r.compiles(c, condition(v.Expression), "validations", i, "expression")
		}
		if strings.TrimSpace(v.MessageExpression) != "" {
			r.compiles(c, &expression{text: v.MessageExpression, types: text}, "validations", i, "messageExpression")
		}
	}
	for i, a := range s.AuditAnnotations {
		if a.Key != "" && slices.ContainsFunc(s.AuditAnnotations[:i], func(o admissionv1.AuditAnnotation) bool { return o.Key == a.Key }) {
			r.duplicate(a.Key, "auditAnnotations", i, "key")
		}
		if strings.TrimSpace(a.ValueExpression) != "" {
			e := &expression{text: a.ValueExpression, types: []*celgo.Type{celgo.StringType, celgo.NullType}}
			r.compiles(c, e, "auditAnnotations", i, "valueExpression")
		}
	}
}

func mutatingPolicy(r *report, s *admissionv1.MutatingAdmissionPolicySpec) {
	if len(s.Variables)+len(s.MatchConditions)+len(s.Mutations) == 0 {
		return
	}
	c, ok := policyCompiler(r, s.ParamKind, s.Variables)
	if !ok {
		return
	}
	matchConditions(r, c, s.MatchConditions)
	options := c.options()
	options.HasPatchTypes = true
	for i, m := range s.Mutations {
		name, e := "", cel.ExpressionAccessor(nil)
		switch m.PatchType {
		case admissionv1.PatchTypeApplyConfiguration:
			name = "applyConfiguration"
			if m.ApplyConfiguration != nil {
				e = &patch.ApplyConfigurationCondition{Expression: m.ApplyConfiguration.Expression}
			}
		case admissionv1.PatchTypeJSONPatch:
			name = "jsonPatch"
			if m.JSONPatch != nil {
				e = &patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}
			}
		default:
			continue // another check rejects the type
		}
		switch {
		case e == nil:
			r.required(fmt.Sprintf("must be specified when patchType is %s", m.PatchType), "mutations", i, name)
		case strings.TrimSpace(e.GetExpression()) == "":
			r.required("expression is not specified", "mutations", i, name, "expression")
		default:
			r.compiled(c.CompileCELExpression(e, options, r.mode()), "mutations", i, name, "expression")
		}
		if m.ApplyConfiguration != nil && m.JSONPatch != nil {
			r.invalid(m.PatchType, "must specify only one of applyConfiguration and jsonPatch", "mutations", i)
		}
	}
}

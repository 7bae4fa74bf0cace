package rules

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/client-go/util/jsonpath"
)

func policyBindingRules() []rule {
	return []rule{
		onField[admissionv1.ValidatingAdmissionPolicyBindingSpec]("policyName", dnsSubdomain),
		require[admissionv1.ValidatingAdmissionPolicyBindingSpec]("validationActions", "at least one validation action is required"),
		onField[admissionv1.ValidatingAdmissionPolicyBindingSpec]("validationActions", validationActions),
		require[admissionv1.MutatingAdmissionPolicyBindingSpec]("policyName", ""),
		onField[admissionv1.MutatingAdmissionPolicyBindingSpec]("policyName", dnsSubdomain),
		onField[admissionv1.MutatingAdmissionPolicyBindingSpec]("matchResources", func(r *report, m admissionv1.MatchResources) {
			mutatedOperations(r, &m)
		}),
		onField[admissionv1.NamedRuleWithOperations]("resourceNames", resourceNames),
		oneOf[admissionv1.ParamRef]("parameterNotFoundAction"),
		onStruct(paramRef),
	}
}

func resourceNames(r *report, names []string) {
	for i, name := range names {
		r.invalidAll(name, content.IsPathSegmentName(name), i)
		if slices.Contains(names[:i], name) {
			r.duplicate(name, i)
		}
	}
}

func paramRef(r *report, p *admissionv1.ParamRef) {
	if p.Name != "" {
		r.invalidAll(p.Name, content.IsPathSegmentName(p.Name), "name")
	}
	switch {
	case p.Name != "" && p.Selector != nil:
		for _, field := range []string{"name", "selector"} {
			r.forbidden("name and selector are mutually exclusive", field)
		}
	case p.Name == "" && p.Selector == nil:
		r.required("one of name or selector must be specified")
	}
	switch action := p.ParameterNotFoundAction; {
	case action == nil || *action == "":
		r.required("", "parameterNotFoundAction")
	case *action != admissionv1.DenyAction && *action != admissionv1.AllowAction:
		r.unsupported(*action, []string{string(admissionv1.AllowAction), string(admissionv1.DenyAction)}, "parameterNotFoundAction")
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

// expressionWarning checks a warning of the type checker, which names a field of the policy.
func expressionWarning(r *report, w *admissionv1.ExpressionWarning) {
	if w.Warning == "" {
		r.required("", "warning")
	}
	field := strings.TrimSpace(w.FieldRef)
	if field == "" {
		r.required("", "fieldRef")
	} else if err := jsonpath.New("spec").Parse("{" + field + "}"); err != nil {
		r.invalid(field, fmt.Sprintf("invalid JSONPath: %v", err), "fieldRef")
	}
}

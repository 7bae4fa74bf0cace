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
	"k8s.io/apiserver/pkg/cel/environment"
)

func policyRules() []rule {
	return []rule{
		require[admissionv1.ValidatingAdmissionPolicySpec]("matchConstraints", ""),
		onField[admissionv1.ValidatingAdmissionPolicySpec]("matchConstraints", matchConstraints),
		onStruct(validatingPolicy),
		notRequired[admissionv1.Validation]("expression"),
		oneOf[admissionv1.Validation]("reason", "Forbidden", "Invalid", "RequestEntityTooLarge"),
		onField[admissionv1.Validation]("message", func(r *report, s string) {
			switch trimmed := strings.TrimSpace(s); {
			case s != "" && trimmed == "":
				r.invalid(s, mayNotBeBlank)
			case strings.ContainsAny(trimmed, "\r\n"):
				r.invalid(s, "must not contain line breaks")
			}
		}),
		notRequired[admissionv1.Variable]("name"),
		notRequired[admissionv1.Variable]("expression"),
		notRequired[admissionv1.AuditAnnotation]("key"),
		notRequired[admissionv1.AuditAnnotation]("valueExpression"),

		require[admissionv1.MutatingAdmissionPolicySpec]("matchConstraints", ""),
		onField[admissionv1.MutatingAdmissionPolicySpec]("matchConstraints", matchConstraints),
		require[admissionv1.MutatingAdmissionPolicySpec]("mutations", "mutations must contain at least one item"),
		require[admissionv1.MutatingAdmissionPolicySpec]("reinvocationPolicy", ""),
		onStruct(mutatingPolicy),

		require[admissionv1.ParamKind]("apiVersion", ""),
		onField[admissionv1.ParamKind]("apiVersion", paramVersion),
		require[admissionv1.ParamKind]("kind", ""),
		onField[admissionv1.ParamKind]("kind", func(r *report, s string) {
			if messages := validation.IsDNS1035Label(strings.ToLower(s)); s != "" && len(messages) > 0 {
				r.invalid(s, "may have mixed case, but should otherwise match: "+strings.Join(messages, ","))
			}
		}),
	}
}

func matchConstraints(r *report, m admissionv1.MatchResources) {
	if len(m.ResourceRules) == 0 {
		r.required("", "resourceRules")
	}
}

// paramVersion checks the group and the version of the parameters of a policy.
func paramVersion(r *report, s string) {
	if s == "" {
		return
	}
	version, err := schema.ParseGroupVersion(s)
	if err != nil {
		r.invalid(s, err.Error())
		return
	}
	if messages := validation.IsDNS1123Subdomain(version.Group); version.Group != "" && len(messages) > 0 {
		r.invalid(version.Group, strings.Join(messages, ","))
	}
	if version.Version == "" {
		r.invalid(s, "version must be specified")
	} else if messages := validation.IsDNS1035Label(version.Version); len(messages) > 0 {
		r.invalid(version.Version, strings.Join(messages, ","))
	}
}

// policyCompiler returns a compiler for the expressions of one policy. If the policy has variables, the environment of the
// compiler contains them, so it cannot be shared. Creating it takes milliseconds.
func policyCompiler(r *report, params *admissionv1.ParamKind, variables []admissionv1.Variable) (compilation, bool) {
	c := compilation{Compiler: webhookCompiler().Compiler, params: params != nil}
	if len(variables) == 0 {
		return c, true
	}
	composite, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		r.add(field.ErrorList{field.InternalError(r.path("variables"), err)})
		return compilation{}, false
	}
	c.Compiler = composite
	for i, v := range variables {
		switch {
		case strings.TrimSpace(v.Name) == "":
			r.required("name is not specified", "variables", i, "name")
		case !identifier.MatchString(v.Name) || slices.Contains(reservedWords, v.Name):
			r.invalid(v.Name, "must be a valid CEL identifier", "variables", i, "name")
		}
		if strings.TrimSpace(v.Expression) == "" {
			r.required("expression is not specified", "variables", i, "expression")
			continue
		}
		e := &expression{name: v.Name, text: v.Expression, types: []*celgo.Type{celgo.AnyType, celgo.DynType}}
		r.compiled(composite.CompileAndStoreVariable(e, c.options(), r.mode(v.Expression)), "variables", i, "expression")
	}
	return c, true
}

// mayNotBeBlank is the message for a text that consists of spaces.
const mayNotBeBlank = "must be non-empty if specified"

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// reservedWords are the words of CEL that cannot be identifiers.
var reservedWords = strings.Fields(`true false null in as break const continue else for function if import let loop package
	namespace return var void while`)

func validatingPolicy(r *report, p *admissionv1.ValidatingAdmissionPolicy) {
	r.under(func() { validatingPolicySpec(r, p.Name, &p.Spec) }, "spec")
}

func validatingPolicySpec(r *report, name string, s *admissionv1.ValidatingAdmissionPolicySpec) {
	matchConditions(r, compilation{Compiler: webhookCompiler().Compiler, params: s.ParamKind != nil}, s.MatchConditions)
	c, ok := policyCompiler(r, s.ParamKind, s.Variables)
	if !ok {
		return
	}
	if len(s.Validations)+len(s.AuditAnnotations) == 0 {
		for _, field := range []string{"validations", "auditAnnotations"} {
			r.required("validations or auditAnnotations must contain at least one item", field)
		}
	}
	for i, v := range s.Validations {
		if strings.TrimSpace(v.Expression) == "" {
			r.required("expression is not specified", "validations", i, "expression")
		} else {
			r.compiles(c, condition(v.Expression), "validations", i, "expression")
		}
		switch {
		case v.MessageExpression == "":
		case strings.TrimSpace(v.MessageExpression) == "":
			r.invalid(v.MessageExpression, mayNotBeBlank, "validations", i, "messageExpression")
		default:
			r.compiles(c, &expression{text: v.MessageExpression, types: []*celgo.Type{celgo.StringType}}, "validations", i, "messageExpression")
		}
	}
	const most = 20
	if len(s.AuditAnnotations) > most {
		r.invalid(s.AuditAnnotations, fmt.Sprintf("must not have more than %d auditAnnotations", most), "auditAnnotations")
	}
	for i, a := range s.AuditAnnotations {
		r.under(func() { auditAnnotation(r, c, name, a) }, "auditAnnotations", i)
		if slices.ContainsFunc(s.AuditAnnotations[:i], func(o admissionv1.AuditAnnotation) bool { return o.Key == a.Key }) {
			r.duplicate(a.Key, "auditAnnotations", i, "key")
		}
	}
}

// auditAnnotation checks an annotation of audit events. Its full key begins with the name of the policy.
func auditAnnotation(r *report, c compilation, policy string, a admissionv1.AuditAnnotation) {
	const longest = 5 << 10
	if policy == "" {
		r.invalid(a.Key, "requires metadata.name be non-empty", "key")
	} else {
		r.invalidAll(policy+"/"+a.Key, validation.IsQualifiedName(policy+"/"+a.Key), "key")
	}
	switch text := strings.TrimSpace(a.ValueExpression); {
	case text == "":
		r.required("valueExpression is not specified", "valueExpression")
	case len(text) > longest:
		r.required(fmt.Sprintf("must not exceed %d bytes in length", longest), "valueExpression")
	default:
		r.compiles(c, &expression{text: text, types: []*celgo.Type{celgo.StringType, celgo.NullType}}, "valueExpression")
	}
}

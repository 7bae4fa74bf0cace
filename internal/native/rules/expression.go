package rules

import (
	"slices"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// expression is a CEL expression with the types that it may return.
type expression struct {
	name, text string
	types      []*celgo.Type
}

// GetExpression returns the text without leading and trailing spaces.
func (e *expression) GetExpression() string { return strings.TrimSpace(e.text) }

// ReturnTypes returns the types that the expression may return.
func (e *expression) ReturnTypes() []*celgo.Type { return e.types }

// GetName returns the name of a variable, which other expressions can use.
func (e *expression) GetName() string { return e.name }

// condition returns an expression that must return a bool.
func condition(text string) *expression {
	return &expression{text: text, types: []*celgo.Type{celgo.BoolType}}
}

// compilation is a compiler for the expressions of a webhook or policy.
type compilation struct {
	cel.Compiler
	params bool // expressions can use the variable params
}

// webhookCompiler compiles the match conditions of webhooks. It is created once, because that takes milliseconds.
var webhookCompiler = sync.OnceValue(func() compilation {
	return compilation{Compiler: cel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))}
})

func (c compilation) options() cel.OptionalVariableDeclarations {
	return cel.OptionalVariableDeclarations{HasParams: c.params, HasAuthorizer: true}
}

// mode returns the CEL environment for an expression. New expressions can use only the functions that all servers support.
// Those of the stored object may have been written by a newer server.
func (r *report) mode(text string) environment.Type {
	if !r.create && slices.Contains(storedExpressions(r.old), text) {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// storedExpressions returns the expressions of a stored webhook configuration or policy.
func storedExpressions(obj runtime.Object) []string {
	var texts []string
	conditions := func(list []admissionv1.MatchCondition) {
		for _, m := range list {
			texts = append(texts, m.Expression)
		}
	}
	variables := func(list []admissionv1.Variable) {
		for _, v := range list {
			texts = append(texts, v.Expression)
		}
	}
	switch o := obj.(type) {
	case *admissionv1.ValidatingWebhookConfiguration:
		for i := range o.Webhooks {
			conditions(o.Webhooks[i].MatchConditions)
		}
	case *admissionv1.MutatingWebhookConfiguration:
		for i := range o.Webhooks {
			conditions(o.Webhooks[i].MatchConditions)
		}
	case *admissionv1.ValidatingAdmissionPolicy:
		conditions(o.Spec.MatchConditions)
		variables(o.Spec.Variables)
		for _, v := range o.Spec.Validations {
			texts = append(texts, v.Expression, v.MessageExpression)
		}
		for _, a := range o.Spec.AuditAnnotations {
			texts = append(texts, a.ValueExpression)
		}
	case *admissionv1.MutatingAdmissionPolicy:
		conditions(o.Spec.MatchConditions)
		variables(o.Spec.Variables)
		for _, m := range o.Spec.Mutations {
			if m.ApplyConfiguration != nil {
				texts = append(texts, m.ApplyConfiguration.Expression)
			}
			if m.JSONPatch != nil {
				texts = append(texts, m.JSONPatch.Expression)
			}
		}
	}
	return texts
}

// compiles compiles an expression and adds an error if that fails. rest is the path of the expression.
func (r *report) compiles(c compilation, e cel.ExpressionAccessor, rest ...any) {
	r.compiled(c.CompileCELExpression(e, c.options(), r.mode(e.GetExpression())), rest...)
}

// compiled adds an error if the compilation failed.
func (r *report) compiled(result cel.CompilationResult, rest ...any) {
	err := result.Error
	if err == nil {
		return
	}
	switch err.Type {
	case apiservercel.ErrorTypeRequired:
		r.required(err.Detail, rest...)
	case apiservercel.ErrorTypeInvalid:
		r.invalid(result.ExpressionAccessor.GetExpression(), err.Detail, rest...)
	default:
		r.add(field.ErrorList{field.InternalError(r.path(rest...), err)})
	}
}

// matchConditions checks the match conditions of a webhook or policy. The current path of r must be
// that of the webhook or policy.
func matchConditions(r *report, c compilation, conditions []admissionv1.MatchCondition) {
	const most = 64
	if len(conditions) > most {
		r.add(field.ErrorList{field.TooMany(r.path("matchConditions"), len(conditions), most)})
		return
	}
	for i, m := range conditions {
		if m.Name != "" {
			r.invalidAll(m.Name, validation.IsQualifiedName(m.Name), "matchConditions", i, "name")
			if slices.ContainsFunc(conditions[:i], func(o admissionv1.MatchCondition) bool { return o.Name == m.Name }) {
				r.duplicate(m.Name, "matchConditions", i, "name")
			}
		}
		if strings.TrimSpace(m.Expression) != "" {
			r.compiles(c, condition(m.Expression), "matchConditions", i, "expression")
		}
	}
}

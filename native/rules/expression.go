package rules

import (
	"slices"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// expression is CEL text with the types that it may answer.
type expression struct {
	name, text string
	types      []*celgo.Type
}

// GetExpression is the text without the space around it.
func (e *expression) GetExpression() string { return strings.TrimSpace(e.text) }

// ReturnTypes is what the expression may answer.
func (e *expression) ReturnTypes() []*celgo.Type { return e.types }

// GetName is the name under which other expressions find a variable.
func (e *expression) GetName() string { return e.name }

func condition(text string) *expression {
	return &expression{text: text, types: []*celgo.Type{celgo.BoolType}}
}

// compilation is a compiler with the variables that are at hand.
type compilation struct {
	cel.Compiler
	params bool
}

// webhookCompiler compiles match conditions of webhooks; building its environment takes milliseconds.
var webhookCompiler = sync.OnceValue(func() compilation {
	return compilation{Compiler: cel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))}
})

func (c compilation) options() cel.OptionalVariableDeclarations {
	return cel.OptionalVariableDeclarations{HasParams: c.params, HasAuthorizer: true}
}

// mode is stricter for new objects: what is stored may use what an older server knew.
func (r *report) mode() environment.Type {
	if r.create {
		return environment.NewExpressions
	}
	return environment.StoredExpressions
}

// compiles reports what the compiler says of an expression, which is at the end of the path.
func (r *report) compiles(c compilation, e cel.ExpressionAccessor, rest ...any) {
	r.compiled(c.CompileCELExpression(e, c.options(), r.mode()), rest...)
}

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

// matchConditions is at the place of the webhook or policy that has them.
func matchConditions(r *report, c compilation, conditions []admissionv1.MatchCondition) {
	const most = 64
	if len(conditions) > most {
		r.add(field.ErrorList{field.TooMany(r.path("matchConditions"), len(conditions), most)})
		return
	}
	for i, m := range conditions {
		if m.Name != "" {
			r.says(m.Name, validation.IsQualifiedName(m.Name), "matchConditions", i, "name")
			if slices.ContainsFunc(conditions[:i], func(o admissionv1.MatchCondition) bool { return o.Name == m.Name }) {
				r.duplicate(m.Name, "matchConditions", i, "name")
			}
		}
		if strings.TrimSpace(m.Expression) != "" {
			r.compiles(c, condition(m.Expression), "matchConditions", i, "expression")
		}
	}
}

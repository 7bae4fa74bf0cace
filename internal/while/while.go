// Package while compiles and evaluates the conditions of rules: the CEL expression after the word while, which is about oldSelf, the
// stored object.
//
//	c, err := while.ForCustom(structural, `oldSelf.status.phase == "Ready"`)
//	holds, err := c.Holds(ctx, stored)
//
// A condition of a custom resource has the libraries and the limits of the CEL rules of a definition. One of a built-in kind has the
// limits of admission policies. A Condition never changes and is safe for concurrent use.
package while

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/schema"
)

// variable is the name of the stored object in an expression.
const variable = cel.OldScopedVarName

// Condition is a compiled expression.
type Condition struct {
	expression string
	program    celgo.Program
	schema     common.Schema
}

// ForCustom compiles an expression about the objects of one version of a definition. The error says what is wrong, and where.
func ForCustom(s *structuralschema.Structural, expression string) (*Condition, error) {
	whole := withMetadata(s)
	declared := model.SchemaDeclType(whole, false)
	if declared == nil {
		return nil, errors.New("CEL has no type for this schema")
	}
	envs := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	// The library knows self too, which no condition may use. So the expression is first compiled without it.
	if _, _, err := compile(envs, declared, expression); err != nil {
		return nil, err
	}
	whole.XValidations = apiextensionsv1.ValidationRules{{Rule: expression}}
	results, err := cel.Compile(whole, declared, celconfig.PerCallLimit, envs, cel.NewExpressionsEnvLoader())
	if err != nil {
		return nil, err
	}
	if results[0].Error != nil {
		return nil, errors.New(results[0].Error.Detail)
	}
	if cost := results[0].MaxCost; cost > validation.StaticEstimatedCostLimit {
		return nil, fmt.Errorf("its estimated cost is %.1f times the limit of a CEL rule: bound the lists and texts that it reads with "+
			"maxItems, maxProperties and maxLength", float64(cost)/validation.StaticEstimatedCostLimit)
	}
	return &Condition{expression: expression, program: results[0].Program, schema: &model.Structural{Structural: whole}}, nil
}

// withMetadata returns a copy of the schema of a resource in which the whole metadata is declared. The rules of a definition see only
// names, but a condition is about the object as a GET returns it.
func withMetadata(s *structuralschema.Structural) *structuralschema.Structural {
	typed := func(name string) structuralschema.Structural {
		return structuralschema.Structural{Generic: structuralschema.Generic{Type: name}}
	}
	texts := typed("object")
	texts.AdditionalProperties = &structuralschema.StructuralOrBool{Structural: new(typed("string"))}
	list := typed("array")
	list.Items = new(typed("string"))
	owner, owners := typed("object"), typed("array")
	owner.Properties = map[string]structuralschema.Structural{
		"apiVersion": typed("string"), "kind": typed("string"), "name": typed("string"), "uid": typed("string"),
		"controller": typed("boolean"), "blockOwnerDeletion": typed("boolean"),
	}
	owners.Items = &owner
	metadata := typed("object")
	metadata.Properties = map[string]structuralschema.Structural{
		"name": typed("string"), "generateName": typed("string"), "namespace": typed("string"), "uid": typed("string"),
		"resourceVersion": typed("string"), "creationTimestamp": typed("string"), "deletionTimestamp": typed("string"),
		"generation": typed("integer"), "labels": texts, "annotations": texts, "finalizers": list, "ownerReferences": owners,
	}
	whole := *s
	whole.Properties = maps.Clone(s.Properties)
	if whole.Properties == nil {
		whole.Properties = map[string]structuralschema.Structural{}
	}
	whole.Properties["apiVersion"], whole.Properties["kind"], whole.Properties["metadata"] = typed("string"), typed("string"), metadata
	return &whole
}

// ForBuiltIn compiles an expression about the objects of a kind with a published schema, which has no references.
func ForBuiltIn(published *schema.Schema, expression string) (*Condition, error) {
	text, err := json.Marshal(published)
	if err != nil {
		return nil, err
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	declared := openapi.SchemaDeclType(s, false)
	if declared == nil {
		return nil, errors.New("CEL has no type for this schema")
	}
	env, ast, err := compile(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), declared, expression)
	if err != nil {
		return nil, err
	}
	program, err := env.Program(ast, celgo.CostLimit(celconfig.PerCallLimit), celgo.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, err
	}
	return &Condition{expression: expression, program: program, schema: &openapi.Schema{Schema: s}}, nil
}

// compile compiles an expression in which only oldSelf is declared.
func compile(envs *environment.EnvSet, declared *apiservercel.DeclType, expression string) (*celgo.Env, *celgo.Ast, error) {
	scoped := declared.MaybeAssignTypeName("oldSelfType")
	extended, err := envs.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []celgo.EnvOption{celgo.Variable(variable, scoped.CelType())},
		DeclTypes:         []*apiservercel.DeclType{scoped},
	})
	if err != nil {
		return nil, nil, err
	}
	env := extended.NewExpressionsEnv()
	ast, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		return nil, nil, inOneLine(issues)
	}
	if ast.OutputType() != celgo.BoolType {
		return nil, nil, fmt.Errorf("must be a bool, and is a %s", ast.OutputType())
	}
	return env, ast, nil
}

// inOneLine returns the problems of an expression, each with its column.
func inOneLine(issues *celgo.Issues) error {
	var all []string
	for _, problem := range issues.Errors() {
		all = append(all, fmt.Sprintf("column %d: %s", problem.Location.Column()+1, strings.ReplaceAll(problem.Message, "\n", " ")))
	}
	return errors.New(strings.Join(all, "; "))
}

// Holds reports whether the condition is true for a stored object. The error says why it cannot be evaluated; the rule then holds.
func (c *Condition) Holds(ctx context.Context, stored map[string]any) (bool, error) {
	result, _, err := c.program.ContextEval(ctx, activation{common.UnstructuredToVal(stored, c.schema)})
	if err != nil {
		return true, c.withoutValues(err)
	}
	return result == types.True, nil
}

// fixedErrors are errors of CEL that say nothing about the values of an object.
var fixedErrors = []string{
	"actual cost limit exceeded", "division by zero", "modulus by zero", "integer overflow", "timestamp overflow", "duration overflow",
	"optional.none() dereference", "no such overload", "operation interrupted",
}

// withoutValues returns an error of an evaluation without values of the object: a refusal has it, and its reader may not be allowed to
// read the object. The name of a missing field stays if the expression has it.
func (c *Condition) withoutValues(err error) error {
	text := err.Error()
	for _, prefix := range []string{"no such key: ", "no such field: "} {
		name, found := strings.CutPrefix(text, prefix)
		if found && (strings.Contains(c.expression, "."+name) || strings.Contains(c.expression, strconv.Quote(name)) ||
			strings.Contains(c.expression, "'"+name+"'")) {
			return errors.New(text)
		}
	}
	for _, fixed := range fixedErrors {
		if strings.Contains(text, fixed) {
			return errors.New(fixed)
		}
	}
	return errors.New("it fails for the values of this object")
}

// activation has the variable of an expression.
type activation struct{ stored any }

var _ interpreter.Activation = activation{}

// ResolveName implements interpreter.Activation.
func (a activation) ResolveName(name string) (any, bool) { return a.stored, name == variable }

// Parent implements interpreter.Activation.
func (activation) Parent() interpreter.Activation { return nil }

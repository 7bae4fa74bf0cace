package stock_test

import (
	"context"
	"encoding/json"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	kubejson "sigs.k8s.io/json"
)

// judge is a stock cluster, as far as it decides about updates.
type judge interface {
	// refuses returns why the cluster refuses an update, nothing if it accepts it.
	refuses(ctx context.Context, oldObj, newObj map[string]any) []string
}

// convert decodes an object strictly into a Go type of Kubernetes.
func convert(t testing.TB, object map[string]any, into any) {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if strict, err := kubejson.UnmarshalStrict(data, into); err != nil || len(strict) > 0 {
		t.Fatalf("%v, %v in\n%s", err, strict, data)
	}
}

// schemaJudge is Kubernetes' validation of custom resources with CEL rules.
type schemaJudge struct {
	structural *structuralschema.Structural
	validator  *cel.Validator
}

// newSchemaJudge validates a definition as Kubernetes does when it is created, and compiles its
// rules.
func newSchemaJudge(t testing.TB, object map[string]any) schemaJudge {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	var typed apiextensionsv1.CustomResourceDefinition
	convert(t, object, &typed)
	scheme.Default(&typed)
	typed.Status.StoredVersions = []string{"v1"}
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&typed, &internal, nil); err != nil {
		t.Fatal(err)
	}
	if errs := validation.ValidateCustomResourceDefinition(t.Context(), &internal); len(errs) > 0 {
		t.Fatalf("Kubernetes refuses the definition: %v", errs.ToAggregate())
	}
	schemaOf, err := apiextensions.GetSchemaForVersion(&internal, "v1")
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(schemaOf.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return schemaJudge{structural, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

func (j schemaJudge) refuses(ctx context.Context, oldObj, newObj map[string]any) []string {
	errs, _ := j.validator.Validate(ctx, nil, j.structural, newObj, oldObj, celconfig.RuntimeCELCostBudget)
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

// policyJudge is Kubernetes' evaluation of ValidatingAdmissionPolicies.
type policyJudge struct {
	validators []validating.Validator
	// may is true if the user has the verbs of rules.
	may *bool
}

func newPolicyJudge(t testing.TB, objects []map[string]any, may *bool) policyJudge {
	t.Helper()
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	judge := policyJudge{may: may}
	for _, object := range objects {
		if object["kind"] != "ValidatingAdmissionPolicy" {
			continue
		}
		var policy admissionregistrationv1.ValidatingAdmissionPolicy
		convert(t, object, &policy)
		var conditions []plugincel.ExpressionAccessor
		for _, v := range policy.Spec.Validations {
			conditions = append(conditions, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		}
		compile := func(conditions []plugincel.ExpressionAccessor) plugincel.ConditionEvaluator {
			options := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
			return compiler.CompileCondition(conditions, options, environment.StoredExpressions)
		}
		judge.validators = append(judge.validators, validating.NewValidator(compile(conditions), nil, compile(nil), compile(nil), policy.Spec.FailurePolicy, nil))
	}
	return judge
}

func (j policyJudge) refuses(ctx context.Context, oldObj, newObj map[string]any) []string {
	return j.decide(ctx, admission.Update, &unstructured.Unstructured{Object: oldObj}, &unstructured.Unstructured{Object: newObj})
}

// refusesDeletion returns why the cluster refuses to delete an object.
func (j policyJudge) refusesDeletion(ctx context.Context, object map[string]any) []string {
	return j.decide(ctx, admission.Delete, &unstructured.Unstructured{Object: object}, nil)
}

func (j policyJudge) decide(ctx context.Context, operation admission.Operation, oldOne, newOne runtime.Object) []string {
	resource := runtimeschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	kind := resource.GroupVersion().WithKind("Thing")
	attributes := &admission.VersionedAttributes{
		Attributes:         admission.NewAttributesRecord(newOne, oldOne, kind, "default", "one", resource, "", operation, nil, false, nil),
		VersionedOldObject: admission.NewLazyObject(oldOne), VersionedKind: kind,
	}
	if newOne != nil {
		attributes.VersionedObject = admission.NewLazyObject(newOne)
	}
	var texts []string
	for _, validator := range j.validators {
		result := validator.Validate(ctx, resource, attributes, nil, nil, celconfig.RuntimeCELCostBudget, j)
		for _, decision := range result.Decisions {
			if decision.Action == validating.ActionDeny {
				texts = append(texts, decision.Message)
			}
		}
	}
	return texts
}

// Authorize implements authorizer.Authorizer. It allows the verbs of rules on the whole object only.
func (j policyJudge) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	asked := [...]string{a.GetVerb(), a.GetAPIGroup(), a.GetResource(), a.GetSubresource(), a.GetNamespace(), a.GetName()}
	if *j.may && asked == [...]string{"resize", "example.com", "things", "", "default", "one"} {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

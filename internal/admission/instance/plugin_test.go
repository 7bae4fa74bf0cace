package instance_test

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const version = `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: tok-0.1.0}
spec:
  operator: {name: tok}
  version: 0.1.0
  plans: {deploy: {phases: []}}
  parameters: [{name: TOKENS, default: "256", immutable: true}, {name: CPUS, default: "1"}]
`

const tok = `
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata: {name: tok}
spec: {operatorVersion: {name: tok-0.1.0}}
`

// started starts a server, creates an Instance and waits for its plan. It returns the
// server and a client for Instances.
func started(t *testing.T) (server *servertest.Server, instances dynamic.ResourceInterface) {
	t.Helper()
	server = servertest.Start(t, apiserver.Config{})
	client := dynamic.NewForConfigOrDie(server.Config(t))
	instances = client.Resource(api.GroupVersion.WithResource("instances")).Namespace("default")
	versions := client.Resource(api.GroupVersion.WithResource("operatorversions")).Namespace("default")
	if _, err := versions.Create(t.Context(), yamltest.Object(t, version), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The plugin reads OperatorVersions without a cache, so there is no need to wait.
	if _, err := instances.Create(t.Context(), yamltest.Object(t, tok), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPlan(t, instances)
	return server, instances
}

// awaitPlan waits until no plan of the Instance is running.
func awaitPlan(t *testing.T, instances dynamic.ResourceInterface) {
	t.Helper()
	waittest.Until(t, "the plan ended", func() bool {
		found, err := instances.Get(t.Context(), "tok", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		plan, _, err := unstructured.NestedString(found.Object, "spec", "planExecution", "planName")
		return err == nil && plan == ""
	})
}

// TestOutdatedWriteConflicts checks that a write with an old resourceVersion gets a
// conflict, so that the client reads the object again, and not a refusal of its values.
func TestOutdatedWriteConflicts(t *testing.T) {
	t.Parallel()
	_, instances := started(t)
	outdated, err := instances.Get(t.Context(), "tok", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	current := outdated.DeepCopy()
	current.SetLabels(map[string]string{"a": "b"})
	waittest.Until(t, "another write", func() bool {
		_, err := instances.Update(t.Context(), current, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			if current, err = instances.Get(t.Context(), "tok", metav1.GetOptions{}); err == nil {
				current.SetLabels(map[string]string{"a": "b"})
			}
			return false
		}
		return err == nil
	})
	unstructured.RemoveNestedField(outdated.Object, "spec", "parameters")
	if _, err := instances.Update(t.Context(), outdated, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an outdated write got %v", err)
	}
	outdated.SetResourceVersion("")
	if _, err := instances.Update(t.Context(), outdated, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a removed value got %v", err)
	}
}

// TestResourceVersionWithLeadingZero checks that a write with resourceVersion 07 is
// judged. The storage takes 07 for 7, so it would not refuse the write as outdated.
func TestResourceVersionWithLeadingZero(t *testing.T) {
	t.Parallel()
	_, instances := started(t)
	waittest.Until(t, "a refusal of the value", func() bool {
		found, err := instances.Get(t.Context(), "tok", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found.SetResourceVersion("0" + found.GetResourceVersion())
		if err := unstructured.SetNestedField(found.Object, "9", "spec", "parameters", "TOKENS"); err != nil {
			t.Fatal(err)
		}
		if _, err = instances.Update(t.Context(), found, metav1.UpdateOptions{}); err == nil {
			t.Fatal("an immutable parameter was changed")
		}
		return apierrors.IsInvalid(err)
	})
}

// TestJudgesAfterMutation checks that the plugin judges the object after a mutating
// policy of a user has changed it, not the object that the client sent.
func TestJudgesAfterMutation(t *testing.T) {
	t.Parallel()
	server, instances := started(t)
	mutate(t, server, "change-tokens", `[JSONPatch{op: "add", path: "/spec/parameters/TOKENS", value: "9"}]`)
	waittest.Until(t, "a refusal of what the policy does", func() bool {
		found, err := instances.Get(t.Context(), "tok", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if tokens, _, _ := unstructured.NestedString(found.Object, "spec", "parameters", "TOKENS"); tokens != "256" {
			t.Fatalf("TOKENS is %q", tokens)
		}
		found.SetLabels(map[string]string{"a": found.GetResourceVersion()})
		_, err = instances.Update(t.Context(), found, metav1.UpdateOptions{})
		return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "parameter 'TOKENS' is immutable but was changed from '256' to '9'")
	})
}

// mutate creates a mutating admission policy that applies a patch to Instances when they
// are updated.
func mutate(t *testing.T, server *servertest.Server, name, patch string) {
	t.Helper()
	policies := server.Client(t).AdmissionregistrationV1()
	if _, err := policies.MutatingAdmissionPolicies().Create(t.Context(), &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"kudo.dev"}, APIVersions: []string{"*"}, Resources: []string{"instances"}},
				},
			}}},
			ReinvocationPolicy: admissionv1.IfNeededReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: patch},
			}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := policies.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestRollbackReinvoked checks that a rollback is accepted when a policy makes the server
// run all of admission twice.
func TestRollbackReinvoked(t *testing.T) {
	t.Parallel()
	server, instances := started(t)
	client := dynamic.NewForConfigOrDie(server.Config(t))
	versions := client.Resource(api.GroupVersion.WithResource("operatorversions")).Namespace("default")
	later := strings.ReplaceAll(version, "0.1.0", "0.2.0")
	if _, err := versions.Create(t.Context(), yamltest.Object(t, later), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := func(text string) (*unstructured.Unstructured, error) {
		return instances.Patch(t.Context(), "tok", types.MergePatchType, []byte(text), metav1.PatchOptions{})
	}
	if _, err := patch(`{"spec":{"operatorVersion":{"name":"tok-0.2.0"}}}`); err != nil {
		t.Fatal(err)
	}
	awaitPlan(t, instances)
	// A policy that changes the object makes the server run admission again.
	mutate(t, server, "label", `[JSONPatch{op: "add", path: "/metadata/labels", value: {"called": string(object.metadata.generation)}}]`)
	waittest.Until(t, "the policy in force", func() bool {
		found, err := patch(`{"metadata":{"labels":null}}`)
		return err == nil && found.GetLabels()["called"] != ""
	})
	awaitPlan(t, instances)
	rolledBack, err := patch(`{"metadata":{"annotations":{"holdfast.dev/rollback-to":"tok-0.1.0"}},` +
		`"spec":{"operatorVersion":{"name":"tok-0.1.0"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if rolledBack.GetLabels()["called"] == "" {
		t.Error("the policy was not called")
	}
	if annotations := rolledBack.GetAnnotations(); annotations[api.RollbackAnnotation] != "" || annotations[api.RecordsAnnotation] != "" {
		t.Errorf("annotations %v", annotations)
	}
}

package guard_test

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/api"
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

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	read := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &read.Object); err != nil {
		t.Fatal(err)
	}
	return read
}

// started is a server with an Instance, and the way to its kinds.
func started(t *testing.T) (server *servertest.Server, instances dynamic.ResourceInterface) {
	t.Helper()
	server = servertest.Start(t, apiserver.Config{})
	client := dynamic.NewForConfigOrDie(server.Config(t))
	instances = client.Resource(api.GroupVersion.WithResource("instances")).Namespace("default")
	if _, err := client.Resource(api.GroupVersion.WithResource("operatorversions")).Namespace("default").Create(t.Context(), object(t, version), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Nothing is waited for: the version is read as it is stored.
	if _, err := instances.Create(t.Context(), object(t, tok), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the plan ended", func() bool {
		found, err := instances.Get(t.Context(), "tok", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		plan, _, err := unstructured.NestedString(found.Object, "spec", "planExecution", "planName")
		return err == nil && plan == ""
	})
	return server, instances
}

// TestOutdated: a client that wrote what it read a while ago is told to read
// again, not that it changed something.
func TestOutdated(t *testing.T) {
	t.Parallel()
	_, instances := started(t)
	outdated, err := instances.Get(t.Context(), "tok", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	current := outdated.DeepCopy()
	current.SetLabels(map[string]string{"a": "b"})
	servertest.Eventually(t, "another write", func() bool {
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

// TestBehindMutation: what a policy of a user makes of a write is judged, not
// what the client sent.
func TestBehindMutation(t *testing.T) {
	t.Parallel()
	server, instances := started(t)
	policies := server.Client(t).AdmissionregistrationV1()
	name := metav1.ObjectMeta{Name: "meddle"}
	if _, err := policies.MutatingAdmissionPolicies().Create(t.Context(), &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: name,
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"kudo.dev"}, APIVersions: []string{"*"}, Resources: []string{"instances"}},
				},
			}}},
			ReinvocationPolicy: admissionv1.IfNeededReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{Expression: `[JSONPatch{op: "add", path: "/spec/parameters/TOKENS", value: "9"}]`},
			}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := policies.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: name, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "meddle"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the policy in force, and what it does refused", func() bool {
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

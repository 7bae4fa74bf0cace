package plugins_test

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestPoliciesAreTypeChecked checks that the status of a policy warns about a field that the
// kind does not have.
func TestPoliciesAreTypeChecked(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	policies := client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "wrong"}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
		},
	}}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: "object.spec.replicass > 1"}, {Expression: "object.spec.replicas > 1"}}
	if _, err := policies.Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var checked *admissionv1.ValidatingAdmissionPolicy
	waittest.Until(t, "the policy is checked", func() bool {
		found, err := policies.Get(t.Context(), "wrong", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		checked = found
		return found.Status.ObservedGeneration == found.Generation
	})
	warnings := checked.Status.TypeChecking.ExpressionWarnings
	if len(warnings) != 1 || warnings[0].FieldRef != "spec.validations[0].expression" {
		t.Errorf("warnings: %+v", warnings)
	}
}

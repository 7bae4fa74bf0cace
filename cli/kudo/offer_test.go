package kudo_test

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
)

// What the server refuses after all is taken back.
func testNothingIsLeftBehind(t *testing.T, w world) {
	w.fails(t, "Bad_Name", "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "Bad_Name")
	if got := w.names(t, "operators") + w.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	w.deny(t)
	size := 3
	servertest.Eventually(t, "updates are denied", func() bool {
		size++
		_, err := w.kudo(t.Context(), "update", "tok", "-p", fmt.Sprintf("SIZE=%d", size))
		return err != nil && strings.Contains(err.Error(), "not on Sundays")
	})
	w.fails(t, "not on Sundays", "upgrade", tok(t, "0.2.0", second), "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l")
	if got := w.names(t, "operators") + " " + w.names(t, "operatorversions"); got != "tok tok-1.0-0.1.0" {
		t.Errorf("there are %s", got)
	}
}

// deny makes a policy that refuses every change of an Instance's spec.
func (w world) deny(t *testing.T) {
	t.Helper()
	policies := w.client.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "sunday"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"kudo.dev"}, APIVersions: []string{"*"}, Resources: []string{"instances"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.spec.operatorVersion == oldObject.spec.operatorVersion && object.spec.parameters == oldObject.spec.parameters",
				Message:    "not on Sundays",
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sunday"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "sunday", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

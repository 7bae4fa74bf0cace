package kudo_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/waittest"
)

// testPlainWrites checks that clients other than the CLI of Holdfast get the same refusals from
// the webhook as from a Holdfast server.
func testPlainWrites(t *testing.T, s *stock) {
	if err := s.create(t, tokVersions); err != nil {
		t.Fatal(err)
	}
	if err := s.create(t, tokInstance); err != nil {
		t.Fatal(err)
	}
	if ready := s.awaitEnd(t, "tok"); ready.Reason != string(api.Complete) {
		t.Fatalf("%s: %s", ready.Reason, ready.Message)
	}
	if diff := cmp.Diff(map[string]string{"TOKENS": "256"}, s.instance(t, "tok").Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	config, err := s.CoreV1().ConfigMaps(s.Namespace).Get(t.Context(), "tok", metav1.GetOptions{})
	if err != nil || config.Data["tokens"] != "256" {
		t.Errorf("rendered %v, %v", config.Data, err)
	}

	const denied = `admission webhook "instances.kudo.dev" denied the request: `
	const invalid = denied + `Instance.kudo.dev "tok" is invalid: `
	upgrade := `{"spec":{"operatorVersion":{"name":"tok-0.2.0"}}}`
	const removed = invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was removed (value '256')`
	for patch, want := range map[string]string{
		`{"spec":{"parameters":{"TOKENS":"8","OTHER":"1"}}}`: invalid +
			`[spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed from '256' to '8', ` +
			`spec.parameters[OTHER]: Forbidden: parameter 'OTHER' is unknown: operator version tok-0.1.0 has no such parameter]`,
		`{"spec":{"parameters":{"TOKENS":null}}}`: removed,
		`{"spec":{"parameters":null}}`:            removed,
		upgrade: invalid +
			`[spec.parameters[CPUS]: Forbidden: parameter 'CPUS' was changed to immutable in operator version 0.2.0 ` +
			`but no value was provided, ` +
			`spec.parameters[REGION]: Forbidden: parameter 'REGION' was added in operator version 0.2.0, ` +
			`but no value was provided (default would be north)]`,
	} {
		if err := s.patch(t.Context(), "tok", patch); !apierrors.IsInvalid(err) || err.Error() != want {
			t.Errorf("%s (-want +got):\n%s", patch, cmp.Diff(want, err.Error()))
		}
	}
	if err := s.patch(t.Context(), "tok", `{"spec":{"parameters":{"TOKENS":"256","CPUS":"2"}}}`); err != nil {
		t.Fatal(err)
	}
	s.awaitPlans(t)

	// A running plan causes a conflict.
	if err := s.patch(t.Context(), "tok", `{"spec":{"planExecution":{"planName":"linger"}}}`); err != nil {
		t.Fatal(err)
	}
	err = s.patch(t.Context(), "tok", `{"spec":{"parameters":{"CPUS":"3"}}}`)
	const running = denied +
		`Operation cannot be fulfilled on instances.kudo.dev "tok": plan 'linger' is running: wait until it has ended`
	if !apierrors.IsConflict(err) || err.Error() != running {
		t.Errorf("while a plan runs: %v", err)
	}
	if err := s.resource("instances").Delete(t.Context(), "tok", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the instance is gone", func() bool { return s.names(t, "instances") == "" })

	// An upgrade with consent, and a rollback.
	if err := s.create(t, tokInstance); err != nil {
		t.Fatal(err)
	}
	s.awaitPlans(t)
	consent := `{"metadata":{"annotations":{"holdfast.dev/given-parameters":` +
		`"{\"operatorVersion\":\"tok-0.2.0\",\"names\":[\"CPUS\",\"REGION\"]}"}}}`
	for _, patch := range []string{consent, upgrade} {
		if err := s.patch(t.Context(), "tok", patch); err != nil {
			t.Fatal(err)
		}
	}
	s.awaitPlans(t)
	upgraded := map[string]string{"TOKENS": "256", "CPUS": "1", "REGION": "north"}
	if diff := cmp.Diff(upgraded, s.instance(t, "tok").Spec.Parameters); diff != "" {
		t.Errorf("upgraded (-want +got):\n%s", diff)
	}
	back := `{"metadata":{"annotations":{"holdfast.dev/rollback-to":"tok-0.1.0"}},"spec":{"operatorVersion":{"name":"tok-0.1.0"}}}`
	if err := s.patch(t.Context(), "tok", back); err != nil {
		t.Fatal(err)
	}
	s.awaitPlans(t)
	rolledBack := s.instance(t, "tok")
	diff := cmp.Diff(map[string]string{"TOKENS": "256"}, rolledBack.Spec.Parameters)
	if diff != "" || rolledBack.Annotations[api.RollbackAnnotation] != "" {
		t.Errorf("rolled back, %v (-want +got):\n%s", rolledBack.Annotations, diff)
	}

	// The spec of an OperatorVersion cannot change.
	version, err := s.resource("operatorversions").Get(t.Context(), "tok-0.1.0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(version.Object, "9.9", "spec", "appVersion"); err != nil {
		t.Fatal(err)
	}
	_, err = s.resource("operatorversions").Update(t.Context(), version, metav1.UpdateOptions{})
	const immutable = "spec: Forbidden: an operator version never changes: a new version is a new object"
	if !apierrors.IsInvalid(err) || !strings.HasSuffix(err.Error(), immutable) {
		t.Errorf("another spec: %v", err)
	}
}

// testMutatingPolicy checks that the webhook judges the object after a mutating policy of a user
// has changed it, not the object that the client sent.
func testMutatingPolicy(t *testing.T, s *stock) {
	for _, text := range []string{tokVersions, tokInstance} {
		if err := s.create(t, text); err != nil {
			t.Fatal(err)
		}
	}
	s.awaitPlans(t)
	policies := s.AdmissionregistrationV1()
	name := metav1.ObjectMeta{Name: "change-tokens"}
	if _, err := policies.MutatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: name,
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.Namespace}},
				ResourceRules:     updatesOfInstances,
			},
			ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[JSONPatch{op: "add", path: "/spec/parameters/TOKENS", value: "9"}]`},
			}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := policies.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: name, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "change-tokens"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "a refusal of what the policy does", func() bool {
		found := s.instance(t, "tok")
		if found.Spec.Parameters["TOKENS"] != "256" {
			t.Fatalf("TOKENS is %q", found.Spec.Parameters["TOKENS"])
		}
		err := s.patch(t.Context(), "tok", `{"metadata":{"labels":{"a":"`+found.ResourceVersion+`"}}}`)
		return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "parameter 'TOKENS' is immutable but was changed from '256' to '9'")
	})
}

package replace_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// refuse creates an admission policy that refuses an operation on the ConfigMaps of the namespace, and returns what removes it.
func (c cluster) refuse(t testing.TB, operation admissionregistrationv1.OperationType) (remove func()) {
	t.Helper()
	return c.refuseUnless(t, operation, admissionregistrationv1.Validation{Expression: "false", Message: fmt.Sprintf("no %s here", operation)})
}

// refuseUnless is refuse with a condition under which the policy allows the operation.
func (c cluster) refuseUnless(
	t testing.TB, operation admissionregistrationv1.OperationType, condition admissionregistrationv1.Validation,
) (remove func()) {
	t.Helper()
	policies := c.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	bindings := c.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	name := strings.ToLower(string(operation)) + "." + c.Namespace
	fail := admissionregistrationv1.Fail
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": c.Namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{operation},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{condition},
		},
	}
	if _, err := policies.Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := bindings.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// Admission is asked about the deletion of the old object, and then about the new one. The object stays if either is refused.
func TestAdmission(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	answer := func() string {
		_, err := c.replace(t, configMaps, old, "dryRun", "All")
		if err == nil {
			return "stored"
		}
		return err.Error()
	}
	expect := func(want string) {
		t.Helper()
		waittest.Until(t, want, func() bool { return strings.Contains(answer(), want) })
	}
	c.refuse(t, admissionregistrationv1.Create)
	expect("no CREATE here")
	allow := c.refuse(t, admissionregistrationv1.Delete)
	expect("no DELETE here")
	_, err := c.replace(t, configMaps, old)
	refused(t, "both refuse", err, http.StatusUnprocessableEntity, "no DELETE here")
	allow()
	expect("no CREATE here")
	_, err = c.replace(t, configMaps, old)
	refused(t, "the new object is refused", err, http.StatusUnprocessableEntity, "no CREATE here")
	if stored, err := c.get(t.Context(), configMaps, "a"); err != nil || stored.GetUID() != old.GetUID() {
		t.Errorf("%v: stored %v", err, stored)
	}
}

// A watch of another server sees both events too.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	store := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	first := cluster{servertest.Start(t, apiserver.Config{Etcd: store}).Cluster(t)}
	second := servertest.Start(t, apiserver.Config{Etcd: store}).Cluster(t)
	old := first.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`)
	events := follow(t, func(options metav1.ListOptions) (watch.Interface, error) {
		options.FieldSelector = "metadata.name=a"
		return second.Dynamic.Resource(configMaps).Namespace("default").Watch(t.Context(), options)
	}, "", old.GetResourceVersion())
	for range 3 {
		next := first.mustReplace(t, configMaps, old)
		expect(t, "on the other server", events, seen{watch.Deleted, old.GetUID(), before(next.GetResourceVersion())},
			seen{watch.Added, next.GetUID(), next.GetResourceVersion()})
		old = next
	}
}

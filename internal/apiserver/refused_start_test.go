package apiserver_test

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// A policy or webhook that refuses the server's own writes does not end its start: an
// administrator can delete it, and the server then writes what is missing.
func TestStartDespiteAdmission(t *testing.T) {
	for name, refuse := range map[string]struct {
		create func(t *testing.T, client kubernetes.Interface)
		remove func(t *testing.T, client kubernetes.Interface)
	}{
		"policy":  {create: createDenyingPolicy, remove: removeDenyingPolicy},
		"webhook": {create: createDeadWebhook, remove: removeDeadWebhook},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server := servertest.Start(t, apiserver.Config{DataDir: dir, WithoutOperators: true})
			client := server.Client(t)
			// The next start has to write these again, and the definitions for the first time.
			if err := client.RbacV1().ClusterRoles().Delete(t.Context(), "view", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			refuse.create(t, client)
			waittest.Until(t, "writes are refused", func() bool { return !writable(t, client) })
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}

			server = servertest.Start(t, apiserver.Config{DataDir: dir})
			client = server.Client(t)
			if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), "view", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Fatalf("the cluster role view: %v, want that it is refused", err)
			}
			refuse.remove(t, client)
			waittest.Until(t, "the cluster role view is there", func() bool {
				role, err := client.RbacV1().ClusterRoles().Get(t.Context(), "view", metav1.GetOptions{})
				return err == nil && len(role.Rules) > 0
			})
			kinds := dynamic.NewForConfigOrDie(server.Config(t)).Resource(definitions.Resource.WithVersion("v1"))
			waittest.Until(t, "the kinds of operator packages are there", func() error {
				_, err := kinds.Get(t.Context(), "instances.kudo.dev", metav1.GetOptions{})
				return err
			})
		})
	}
}

// A restart writes nothing where nothing differs.
func TestRestartWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	versions := func() map[string]string {
		server := servertest.Start(t, apiserver.Config{DataDir: dir})
		found := map[string]string{}
		kinds := dynamic.NewForConfigOrDie(server.Config(t)).Resource(definitions.Resource.WithVersion("v1"))
		list, err := kinds.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			found[list.Items[i].GetName()] = list.Items[i].GetResourceVersion()
		}
		roles, err := server.Client(t).RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range roles.Items {
			// A controller may still collect the rules of aggregated roles.
			if roles.Items[i].AggregationRule == nil {
				found[roles.Items[i].Name] = roles.Items[i].ResourceVersion
			}
		}
		schemas, err := server.Client(t).FlowcontrolV1().FlowSchemas().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range schemas.Items {
			// The status changes once, when the server has read the priority level.
			found[schemas.Items[i].Name] = schemas.Items[i].Annotations["apf.kubernetes.io/autoupdate-spec"]
		}
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		return found
	}
	first, second := versions(), versions()
	for name, version := range first {
		if second[name] != version {
			t.Errorf("%s: version %s after a restart, was %s", name, second[name], version)
		}
	}
}

func writable(t *testing.T, client kubernetes.Interface) bool {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "try-"}}
	_, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	return err == nil
}

const denyAll = "deny.holdfast.dev"

func everything() admissionv1.RuleWithOperations {
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
	}
}

func createDenyingPolicy(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: denyAll},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: everything()}}},
			Validations:      []admissionv1.Validation{{Expression: "has(object.metadata.labels) && 'team' in object.metadata.labels"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: denyAll},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: denyAll, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	registration := client.AdmissionregistrationV1()
	if _, err := registration.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := registration.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func removeDenyingPolicy(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	bindings := client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	if err := bindings.Delete(t.Context(), denyAll, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func createDeadWebhook(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	// Nothing listens on this port, so each call is refused at once.
	url := "https://127.0.0.1:1/"
	hook := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: denyAll},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: denyAll, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{URL: &url}, Rules: []admissionv1.RuleWithOperations{everything()},
		}},
	}
	hooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(t.Context(), hook, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func removeDeadWebhook(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	hooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if err := hooks.Delete(t.Context(), denyAll, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

package kudo_test

import (
	"errors"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/waittest"
)

// testStockRights checks that a plan has the rights of the user that installs the package, even
// if that user sets another requester.
func testStockRights(t *testing.T, s *stock) {
	if err := s.create(t, `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: greedy-0.1.0}
spec:
  operator: {name: greedy}
  version: 0.1.0
  templates:
    settings.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-settings'}}"
    power.yaml: |
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRoleBinding
      metadata: {name: '{{ .Name }}-power'}
      roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
      subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
  tasks: [{name: all, kind: Apply, spec: {resources: [settings.yaml, power.yaml]}}]
  plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [all]}]}]}}
`); err != nil {
		t.Fatal(err)
	}
	s.bindEdit(t, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "eve"})
	eve := s.cluster
	eve.Dynamic = dynamic.NewForConfigOrDie(s.server.As(t, "eve"))
	waittest.Until(t, "eve may write instances", func() bool {
		return eve.create(t, `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: mine,
  annotations: {holdfast.dev/requested-by: '{"username":"root","groups":["system:masters"]}'}},
  spec: {operatorVersion: {name: greedy-0.1.0}}}`) == nil
	})
	names, _, err := authorship.NamesOn(s.instance(t, "mine"))
	if err != nil || names.Requester != "eve" {
		t.Errorf("requested by %+v, %v", names, err)
	}
	ready := s.awaitEnd(t, "mine")
	if ready.Reason != string(api.FatalError) || !strings.Contains(ready.Message, `ClusterRoleBinding mine-power`) ||
		!strings.Contains(ready.Message, `"eve" cannot`) {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
	if _, err := s.CoreV1().ConfigMaps(s.Namespace).Get(t.Context(), "mine-settings", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the other object: %v", err)
	}
	testAccountInstalls(t, s)
	// The requester cannot be changed later either.
	forge := `{"metadata":{"annotations":{"holdfast.dev/requested-by":"{\"username\":\"root\"}"}}}`
	if err := eve.patch(t.Context(), "mine", forge); err != nil {
		t.Fatal(err)
	}
	if names, _, err = authorship.NamesOn(s.instance(t, "mine")); err != nil || names.Requester != "eve" {
		t.Errorf("requested by %+v, %v", names, err)
	}
	// The administrator requests the same plan and is allowed to make all its writes.
	if err := s.patch(t.Context(), "mine", `{"spec":{"planExecution":{"planName":"deploy"}}}`); err != nil {
		t.Fatal(err)
	}
	if ready := s.awaitEnd(t, "mine"); ready.Reason != string(api.Complete) {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
}

// testAccountInstalls checks that a user with a UID and extra fields, such as a service account
// with a token, is impersonated with these.
func testAccountInstalls(t *testing.T, s *stock) {
	t.Helper()
	if err := s.create(t, tokVersions); err != nil {
		t.Fatal(err)
	}
	s.bindEdit(t, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: "default"})
	var token *authenticationv1.TokenRequest
	waittest.Until(t, "a token of the account", func() error {
		var err error
		accounts := s.CoreV1().ServiceAccounts(s.Namespace)
		token, err = accounts.CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	})
	config := rest.AnonymousClientConfig(s.server.Config(t))
	config.BearerToken = token.Status.Token
	account := s.cluster
	account.Dynamic = dynamic.NewForConfigOrDie(config)
	waittest.Until(t, "the account may write instances", func() bool { return account.create(t, tokInstance) == nil })
	record, err := s.records().Record(t.Context(), s.instance(t, "tok"))
	if err != nil || record.Requester.UID == "" || len(record.Requester.Extra) == 0 {
		t.Errorf("requested by %+v, %v", record.Requester, err)
	}
	if ready := s.awaitEnd(t, "tok"); ready.Reason != string(api.Complete) {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
}

// records returns the keys of the manager.
func (s *stock) records() *authorship.Keyring {
	return authorship.NewKeyring(authorship.SecretKeys(s.Interface, "kudo-system", "kudo-records"))
}

// testWithoutWebhooks checks what happens when the webhooks are deleted or limited to some
// namespaces. Any client could then set the requester of an Instance, so the manager runs no
// plan, and acts on no such requester later.
func testWithoutWebhooks(t *testing.T, s *stock) {
	all := s.AdmissionregistrationV1()
	for name, disable := range map[string]func() error{
		"deleted": func() error {
			return errors.Join(
				all.ValidatingWebhookConfigurations().Delete(t.Context(), "kudo-webhook", metav1.DeleteOptions{}),
				all.MutatingWebhookConfigurations().Delete(t.Context(), "kudo-webhook", metav1.DeleteOptions{}))
		},
		"narrowed": func() error {
			patch := []byte(`{"webhooks":[{"name":"instances.kudo.dev","namespaceSelector":{"matchLabels":{"a":"b"}}}]}`)
			_, validating := all.ValidatingWebhookConfigurations().
				Patch(t.Context(), "kudo-webhook", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			_, mutating := all.MutatingWebhookConfigurations().
				Patch(t.Context(), "kudo-webhook", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return errors.Join(validating, mutating)
		},
	} {
		t.Run(name, func(t *testing.T) {
			waittest.Until(t, "the manager leads", func() bool { return s.leader(t) != "" })
			if err := disable(); err != nil {
				t.Fatal(err)
			}
			own := *s
			own.cluster = s.enter(t, name)
			testForged(t, s, own)
		})
	}
}

// testForged creates an Instance with a forged requester while the webhooks do not work. The
// manager does not run its plan, not even when the webhooks work again.
func testForged(t *testing.T, s *stock, own stock) {
	if err := own.create(t, tokVersions); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the manager no longer leads", func() bool { return s.leader(t) == "" })
	forged := `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: forged,
  annotations: {holdfast.dev/requested-by: '{"username":"root","groups":["system:masters"]}'}},
  spec: {operatorVersion: {name: tok-0.1.0}, planExecution: {planName: deploy, uid: one}}}`
	waittest.Until(t, "an Instance that is not judged", func() bool {
		if err := own.create(t, forged); err != nil {
			return false
		}
		names, _, err := authorship.NamesOn(own.instance(t, "forged"))
		if err == nil && names.Requester == "root" {
			return true
		}
		// The webhook was still in force.
		if err := own.resource("instances").Delete(t.Context(), "forged", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		return false
	})
	s.initialize(t, "--webhook-url", s.address, "--wait")
	if ready := own.awaitEnd(t, "forged"); ready.Reason != string(api.FatalError) ||
		!strings.Contains(ready.Message, "it is not known which user requested the plan") {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
	if _, err := s.CoreV1().ConfigMaps(own.Namespace).Get(t.Context(), "forged", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object of its plan: %v", err)
	}
}

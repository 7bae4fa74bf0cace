package guard_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
)

const (
	configurations = "validatingwebhookconfigurations.v1.admissionregistration.k8s.io"
	dataPolicy     = `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: NAME}
spec: {resources: [RESOURCE], rules: [immutable data]}
`
)

// policy creates a policy that makes the data of a resource immutable.
func (f *fixture) policy(name, resource string) {
	f.Helper()
	f.create(policies, strings.NewReplacer("NAME", name, "RESOURCE", resource).Replace(dataPolicy))
}

// ready returns the answer of /readyz.
func (f *fixture) ready() string {
	f.Helper()
	request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, f.health+"/readyz", nil)
	if err != nil {
		f.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		f.Fatal(err)
	}
	return response.Status + ": " + string(text)
}

// TestLostObjects deletes the Secret of a running guard, and its webhook configuration, one after the other and both. The guard makes
// them again, and new policies take effect.
func TestLostObjects(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create("default/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.create("default/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: eA==}}`)
	f.policy("first", "configmaps")
	f.asks("default/configmaps", "c", `{data: {a: new}}`)
	const secrets = "holdfast-guard/secrets"
	remove := func(resource, name string) {
		t.Helper()
		if err := f.of(resource).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	exists := func(resource, name string) {
		t.Helper()
		waittest.Until(t, resource+" "+name+" exists again", func() error {
			_, err := f.of(resource).Get(t.Context(), name, metav1.GetOptions{})
			return err
		})
	}
	remove(secrets, guard.SecretName)
	f.policy("second", "secrets")
	f.asks("default/secrets", "s", `{data: {a: eQ==}}`)
	f.wantStatus("second", "True", "all rules are in force")
	exists(secrets, guard.SecretName)

	remove(secrets, guard.SecretName)
	remove(configurations, guard.Name)
	exists(secrets, guard.SecretName)
	exists(configurations, guard.Name)
	f.asks("default/configmaps", "c", `{data: {a: new}}`)
	if got := f.patch("default/configmaps", "c", `{data: {a: new}}`); !strings.HasPrefix(got, "BadRequest: ") {
		t.Error(got)
	}
	f.wantStatus("first", "True", "all rules are in force")
	if got := f.ready(); got != "200 OK: ok" {
		t.Error(got)
	}
}

// TestTruth takes the right to write the webhook configuration from a guard, and then deletes the configuration. The status of the
// policy and the readiness say that nothing is guarded, until the guard may write it again.
func TestTruth(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.account = true
	f.run()
	f.create("default/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.policy("first", "configmaps")
	f.asks("default/configmaps", "c", `{data: {a: new}}`)
	f.wantStatus("first", "True", "all rules are in force")
	bindings := f.server.Client(t).RbacV1().ClusterRoleBindings()
	right, err := bindings.Get(t.Context(), "holdfast-guard-configuration", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := bindings.Delete(t.Context(), right.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the configuration stays away", func() bool {
		err := f.of(configurations).Delete(t.Context(), guard.Name, metav1.DeleteOptions{})
		return err != nil && strings.HasPrefix(f.ready(), "503 Service Unavailable: ")
	})
	f.wantStatus("first", "False", "configmaps: the API server does not ask the guard about it: ", "forbidden")
	if got := f.ready(); !strings.Contains(got, "the webhook configuration holdfast-guard") {
		t.Error(got)
	}
	restored := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: right.Name}, RoleRef: right.RoleRef, Subjects: right.Subjects}
	if _, err := bindings.Create(t.Context(), restored, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.wantStatus("first", "True", "all rules are in force")
	waittest.Until(t, "the guard is ready", func() bool { return f.ready() == "200 OK: ok" })
}

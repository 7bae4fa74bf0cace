package controller_test

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/operator/controller"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestReviewAccess checks which users may write an object that cannot be tried as a dry run.
func TestReviewAccess(t *testing.T) {
	t.Parallel()
	admin, _, _ := authorsCluster(t)
	// kim may write and escalate roles, and bind the role view.
	servertest.Grant(t, admin.Interface, rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: admin.Namespace, Name: "kim"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"create", "patch", "escalate"}},
			{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"rolebindings"}, Verbs: []string{"create", "patch"}},
			{
				APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"bind"},
				ResourceNames: []string{"view"},
			},
			{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		},
	})
	servertest.AwaitRight(t, admin.Interface, "kim", authorizationv1.ResourceAttributes{
		Namespace: admin.Namespace, Verb: "bind", Group: rbacv1.GroupName, Resource: "clusterroles", Name: "view",
	})
	const (
		config  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NAMESPACE}}`
		role    = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a, namespace: NAMESPACE}}`
		viewing = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: NAMESPACE},
			roleRef: {kind: ClusterRole, name: view}}`
		ruling = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: NAMESPACE},
			roleRef: {kind: ClusterRole, name: admin}}`
		signing = `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: a}}`
	)
	for name, test := range map[string]struct{ user, verb, object, want string }{
		"edit applies a ConfigMap":  {"eve", "apply", config, ""},
		"edit deletes a ConfigMap":  {"eve", "delete", config, ""},
		"edit applies a Role":       {"eve", "apply", role, `roles.rbac.authorization.k8s.io "a" is forbidden: user "eve" cannot patch`},
		"edit deletes a Role":       {"eve", "delete", role, `user "eve" cannot delete`},
		"admin applies a Role":      {"ada", "apply", role, `user "ada" cannot escalate resource "roles"`},
		"escalate applies a Role":   {"kim", "apply", role, ""},
		"a role that may be bound":  {"kim", "apply", viewing, ""},
		"another role":              {"kim", "apply", ruling, `user "kim" cannot bind resource "clusterroles"`},
		"a certificate is not seen": {"kim", "apply", signing, "the checks of this kind cannot be made"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := yamltest.Object(t, strings.Replace(test.object, "NAMESPACE", admin.Namespace, 1))
			got := ""
			if err := controller.ReviewAccess(t.Context(), admin.Config, test.user, test.verb, object); err != nil {
				got = err.Error()
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

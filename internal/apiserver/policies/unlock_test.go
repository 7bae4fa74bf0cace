package policies_test

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	return yamltest.Object(t, text)
}

// TestUnlock checks that only a user with the verb unlock can take an object out of a policy, by its labels or by those of its
// namespace.
func TestUnlock(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	admin := f.server.Client(t)
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {tier: prod}}}`)
	grant := func(user string, verbs ...string) {
		role := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps", "namespaces"}, Verbs: verbs},
		}}
		if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), &role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		servertest.AwaitRight(t, admin, user, authorizationv1.ResourceAttributes{Verb: verbs[0], Resource: "configmaps", Namespace: "prod", Name: "c"})
	}
	grant("ann", "patch", "get")
	grant("bob", "patch", "get", "unlock")
	f.policy("prod", `{resources: [configmaps], rules: [immutable data], namespaceSelector: {matchLabels: {tier: prod}},
  objectSelector: {matchExpressions: [{key: free, operator: DoesNotExist}]}}`)
	const prod = "prod/configmaps"
	f.create(prod, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	ann, bob := f.as("ann"), f.as("bob")
	f.want("another namespace", f.patch(configMaps, "c", `{data: {a: z}}`), "ok")
	f.want("the namespace", f.patch(prod, "c", `{data: {a: z}}`), "which policy prod forbids")
	const refused = `metadata.labels: field is immutable: policy prod would no longer select it (a user that may unlock it can change it)`
	f.want("other labels", ann.patch(prod, "c", `{metadata: {labels: {a: b}}}`), "ok")
	f.want("the label", ann.patch(prod, "c", `{metadata: {labels: {free: "yes"}}}`), `BadRequest: ConfigMap "c" cannot be changed this way: `+refused)
	f.want("the label of the namespace", ann.patch("namespaces", "prod", `{metadata: {labels: {tier: null}}}`), refused)
	f.want("labels and data", bob.patch(prod, "c", `{metadata: {labels: {free: "yes"}}, data: {a: z}}`), "which policy prod forbids")
	f.want("with the verb", bob.patch(prod, "c", `{metadata: {labels: {free: "yes"}}}`), "ok")
	f.want("unlocked", ann.patch(prod, "c", `{data: {a: z}}`), "ok")
	f.want("locked again", ann.patch(prod, "c", `{metadata: {labels: {free: null}}}`), "ok")
	f.want("the namespace with the verb", bob.patch("namespaces", "prod", `{metadata: {labels: {tier: null}}}`), "ok")
}

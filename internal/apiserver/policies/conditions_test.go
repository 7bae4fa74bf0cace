package policies_test

import (
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// grant gives a user verbs on resources of the core group and of example.com, in all namespaces.
func (f *fixture) grant(user string, resources, verbs []string) {
	f.Helper()
	admin := f.server.Client(f.TB)
	role := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "example.com"}, Resources: resources, Verbs: verbs},
	}}
	if _, err := admin.RbacV1().ClusterRoles().Create(f.Context(), &role, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	_, err := admin.RbacV1().ClusterRoleBindings().Create(f.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	right := authorizationv1.ResourceAttributes{Verb: verbs[0], Resource: resources[0], Namespace: "default", Name: "c"}
	servertest.AwaitRight(f.TB, admin, user, right)
}

// TestConditions checks rules of policies that hold while something is true, rules that users with a verb may break, and rules about
// labels, for built-in kinds and custom resources.
func TestConditions(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(definitions, widgetsDefinition)
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {team: a}}, data: {a: x, size: L}}`)
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: open}, data: {a: x, state: open}}`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: L, note: open}}`)
	f.policy("conditions", `{resources: [configmaps, widgets.example.com], rules: [
  'immutable data while !has(oldSelf.data.state) || oldSelf.data.state != "open"', "set-once binaryData unless refill",
  'immutable metadata.labels["team"]', 'v1: immutable spec.size unless resize while oldSelf.spec.note != "open"']}`)
	f.wantStatus("conditions", "False", "")
	const forbids = "which policy conditions forbids"
	f.grant("ann", []string{"configmaps", "widgets"}, []string{"patch", "get"})
	f.grant("bob", []string{"configmaps", "widgets"}, []string{"patch", "get", "refill", "resize"})
	ann, bob := f.as("ann"), f.as("bob")
	f.want("the condition holds", ann.patch(configMaps, "c", `{data: {a: z}}`), forbids)
	f.want("the condition does not hold", ann.patch(configMaps, "open", `{data: {a: z, state: null}}`), "ok")
	f.want("the condition holds now", ann.patch(configMaps, "open", `{data: {a: x}}`), forbids)
	f.want("a label", ann.patch(configMaps, "c", `{metadata: {labels: {team: b}}}`), `metadata.labels.team`)
	f.want("set once", ann.patch(configMaps, "c", `{binaryData: {b: eA==}}`), "ok")
	f.want("set again", ann.patch(configMaps, "c", `{binaryData: {b: eg==}}`), "(a user that may refill it can change it)")
	f.want("with the right", bob.patch(configMaps, "c", `{binaryData: {b: eg==}}`), "ok")
	if !slices.ContainsFunc(bob.warnings.texts, func(text string) bool { return strings.HasSuffix(text, "by the right to refill") }) {
		t.Errorf("warnings %q", bob.warnings.texts)
	}
	f.want("a widget", ann.patch(widgets, "w", `{spec: {size: M}}`), "ok")
	f.want("a widget", ann.patch(widgets, "w", `{spec: {note: closed}}`), "ok")
	f.want("a closed widget", ann.patch(widgets, "w", `{spec: {size: L}}`), "(a user that may resize it can change it)")
	f.want("a closed widget with the right", bob.patch(widgets, "w", `{spec: {size: L}}`), "ok")
}

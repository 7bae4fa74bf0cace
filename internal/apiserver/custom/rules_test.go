package custom_test

import (
	"net/http"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// asUser returns a client that sends requests as a user with rights to things of a group: to read and write them, and the verbs.
func asUser(t *testing.T, group, user string, verbs ...string) *client {
	t.Helper()
	admin, err := kubernetes.NewForConfig(sharedConfig)
	if err != nil {
		t.Fatal(err)
	}
	all := append([]string{"get", "update", "patch"}, verbs...)
	name := strings.ReplaceAll(group, ".", "-") + "-" + user
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{"things", "things/status"}, Verbs: all}},
	}
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.AwaitRight(t, admin, name, authorizationv1.ResourceAttributes{Verb: all[len(all)-1], Group: group, Resource: "things", Namespace: "default"})
	config := restclient.CopyConfig(sharedConfig)
	config.Impersonate = restclient.ImpersonationConfig{UserName: name}
	c, err := newClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// expect sends a request and compares the start of its answer, as answer.text gives it, with what is wanted.
func (c *client) expect(t *testing.T, method, path, body, want string) {
	t.Helper()
	got, err := c.do(method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.text(), want) {
		t.Errorf("%s %s: %s, want %s", method, body, got.text(), want)
	}
}

// Each kind of rule is in force for each way to write, and gives way to the right that it names.
func TestRules(t *testing.T) {
	t.Parallel()
	const group = "rules.example.com"
	define(t, group, `{type: object, properties: {
		zone: {type: string, description: The zone., x-kubernetes-update: [NoUnset, NoModify]},
		size: {type: string, description: The size.}, phase: {type: string}, port: {type: integer}}}`)
	shared.must(t, 200, merge, definitions+"/things."+group, `{metadata: {annotations: {holdfast.dev/immutability: '
		immutable spec.size while oldSelf.spec.phase == "Ready"

		set-once spec.port unless move

		immutable metadata.labels["team"]'}}}`)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{size: L}`))
	path := objectPath(group)
	user, mover := asUser(t, group, "user"), asUser(t, group, "mover", "move")

	user.expect(t, merge, path, `{spec: {zone: a, port: 1}}`, "200")
	const says = `400 Thing.rules.example.com "o" cannot be changed this way: `
	user.expect(t, merge, path, `{spec: {zone: b}}`, says+`spec.zone: field is immutable once set: changed from "a" to "b"`)
	user.expect(t, merge, path, `{spec: {zone: null}}`, says+`spec.zone: field is immutable once set: removed "a"`)
	// The condition cannot be evaluated: no phase. The rule holds.
	user.expect(t, merge, path, `{spec: {size: M}}`, says+
		`spec.size: field is immutable while oldSelf.spec.phase == "Ready": changed from "L" to "M"; the condition could not be evaluated: no such key: phase`)
	user.expect(t, merge, path, `{spec: {phase: New}}`, "200")
	user.expect(t, merge, path, `{spec: {size: M, phase: Ready}}`, "200")
	// The condition is about the stored object: no write opens the rule for itself.
	user.expect(t, merge, path, `{spec: {size: L, phase: New}}`, says+`spec.size: field is immutable while oldSelf.spec.phase == "Ready": changed from "M" to "L"`)

	user.expect(t, merge, path, `{spec: {port: 2}}`, says+
		`spec.port: field is immutable once set: changed from 1 to 2 (a user that may move it can change it)`)
	mover.expect(t, merge, path, `{spec: {port: 2}}`, `200  spec.port: changed from 1 to 2 by the right to move`)
	mover.expect(t, merge, path, `{spec: {zone: b}}`, "400")
	// A write that does not break the rule carries no warning.
	if got, err := mover.do(merge, path, `{spec: {port: 2}}`); err != nil || len(got.warnings) > 0 {
		t.Errorf("%v, %v", got, err)
	}

	user.expect(t, merge, path, `{metadata: {labels: {other: x}}}`, "200")
	user.expect(t, merge, path, `{metadata: {labels: {team: x}}}`, says+`metadata.labels.team: field is immutable: added "x"`)

	document, err := shared.must(t, 200, "GET", "/openapi/v3/apis/"+group+"/v1", "").MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"May be set once. The zone.", `Immutable while oldSelf.spec.phase == \"Ready\". The size.`, "May be set once. Only with the right to move. ",
		`"x-kubernetes-update":["NoUnset","NoModify"]`,
	} {
		if !strings.Contains(string(document), want) {
			t.Errorf("OpenAPI does not have %s", want)
		}
	}
}

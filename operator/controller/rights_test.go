package controller_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/api"
)

const greedy = `
templates:
  settings.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-settings'}}"
  power.yaml: |
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: '{{ .Name }}-power'}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
    subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
tasks:
- {name: settings, kind: Apply, spec: {resources: [settings.yaml]}}
- {name: power, kind: Apply, spec: {resources: [power.yaml]}}
plans:
  deploy:
    phases:
    - name: main
      steps:
      - {name: settings, tasks: [settings]}
      - {name: power, tasks: [power]}
`

// TestRights: a package can do what its installer can, and no more.
func TestRights(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "greedy", "0.1.0", greedy)
	bind(t, c, "eve", "edit")
	eve := c.as(t, "eve")
	servertest.Eventually(t, "eve may write instances", func() bool {
		return eve.create(t, "instances", `{metadata: {name: mine, annotations: {holdfast.dev/requested-by: '{"username":"root","groups":["system:masters"]}'}}, spec: {operatorVersion: {name: greedy-0.1.0}}}`) == nil
	})
	ready := c.ended(t, "mine")
	if ready.Reason != string(api.FatalError) || !strings.Contains(ready.Message, `ClusterRoleBinding mine-power`) || !strings.Contains(ready.Message, `"eve" cannot`) {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
	if c.get(t, "configmaps", "mine-settings") != nil || c.get(t, "rbac.authorization.k8s.io/clusterrolebindings", "mine-power") != nil {
		t.Error("something was created")
	}
	if err := eve.create(t, "operatorversions", `{metadata: {name: own-0.1.0}, spec: {operator: {name: own}, version: 0.1.0}}`); err == nil {
		t.Error("edit creates operator versions")
	}

	// The same package, the same Instance, by somebody who may.
	if err := c.change(t, "mine", func(i *api.Instance) { i.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "mine")
	if c.get(t, "rbac.authorization.k8s.io/clusterrolebindings", "mine-power") == nil {
		t.Fatal("an administrator's plan did not create the binding")
	}

	// What lives in no namespace goes with the Instance all the same.
	if err := c.kudo("instances").Delete(t.Context(), "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "everything of the instance gone", func() bool {
		return c.get(t, "rbac.authorization.k8s.io/clusterrolebindings", "mine-power") == nil && c.get(t, "configmaps", "mine-settings") == nil
	})
}

func bind(t *testing.T, c cluster, user, role string) {
	t.Helper()
	_, err := c.typed.RbacV1().RoleBindings(c.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

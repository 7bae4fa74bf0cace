package controller_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/waittest"
)

// greedy is an operator that binds user rob to cluster-admin.
const greedy = `
templates:
  settings.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-settings'}}"
  power.yaml: |
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: '{{ .Name }}-power'}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
    subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: rob}]
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

// TestRights checks that a plan has exactly the rights of the user that requests it.
func TestRights(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "greedy", "0.1.0", greedy)
	bind(t, c, rbacv1.UserKind, "rob", "edit")
	rob := c.as("rob")
	waittest.Until(t, "rob may write instances", func() bool {
		return rob.create(t, "instances", `{metadata: {name: mine, annotations: {
			holdfast.dev/requested-by: '{"username":"root","groups":["system:masters"]}'}},
			spec: {operatorVersion: {name: greedy-0.1.0}}}`) == nil
	})
	ready := c.awaitEnd(t, "mine")
	if ready.Reason != string(api.FatalError) || !strings.Contains(ready.Message, `ClusterRoleBinding mine-power`) ||
		!strings.Contains(ready.Message, `"rob" cannot`) {
		t.Errorf("the plan ended with %s: %s", ready.Reason, ready.Message)
	}
	if c.get(t, "configmaps", "mine-settings") != nil ||
		c.get(t, "rbac.authorization.k8s.io/clusterrolebindings", "mine-power") != nil {
		t.Error("something was created")
	}
	if err := rob.create(t, "operatorversions", `{metadata: {name: own-0.1.0}, spec: {operator: {name: own}, version: 0.1.0}}`); err == nil {
		t.Error("edit creates operator versions")
	}

	// The administrator requests the same plan and is allowed to make all its writes.
	if err := c.change(t, "mine", func(i *api.Instance) { i.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "mine")
	if c.get(t, "rbac.authorization.k8s.io/clusterrolebindings", "mine-power") == nil {
		t.Fatal("an administrator's plan did not create the binding")
	}

	// Cluster-scoped objects outlive the Instance.
	if err := c.kudo("instances").Delete(t.Context(), "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the namespaced objects gone", func() bool { return c.get(t, "configmaps", "mine-settings") == nil })
	if c.get(t, "rbac.authorization.k8s.io/clusterrolebindings", "mine-power") == nil {
		t.Error("the cluster-scoped object is gone")
	}
}

// granting is an operator that grants rights which its installer does not have.
const granting = `
parameters: [{name: VERB, default: get}]
templates:
  settings.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-settings'}}"
  role.yaml: |
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: '{{ .Name }}'}
    rules: [{apiGroups: [""], resources: ["*"], verbs: ['{{ .Params.VERB }}']}, {apiGroups: [""], resources: [configmaps], verbs: [get]}]
  binding.yaml: |
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: '{{ .Name }}'}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
    subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ada}]
tasks:
- {name: settings, kind: Apply, spec: {resources: [settings.yaml]}}
- {name: role, kind: Apply, spec: {resources: [role.yaml]}}
- {name: binding, kind: Apply, spec: {resources: [binding.yaml]}}
plans:
  deploy:
    phases: [{name: main, steps: [{name: settings, tasks: [settings]}, {name: grant, tasks: [role, binding]}]}]
`

// TestEscalation checks that a user with the right to write roles cannot use a plan to grant
// rights that the user does not have.
func TestEscalation(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "granting", "0.1.0", granting)
	bind(t, c, rbacv1.UserKind, "ada", "admin")
	ada := c.as("ada")
	waittest.Until(t, "ada may write instances", func() bool {
		return ada.create(t, "instances",
			`{metadata: {name: mine}, spec: {operatorVersion: {name: granting-0.1.0}, parameters: {VERB: "*"}}}`) == nil
	})
	ready := c.awaitEnd(t, "mine")
	if ready.Reason != string(api.FatalError) {
		t.Fatalf("%s: %s", ready.Reason, ready.Message)
	}
	for _, want := range []string{
		`Role mine: roles.rbac.authorization.k8s.io "mine" is forbidden: user "ada"`,
		`RoleBinding mine: rolebindings.rbac.authorization.k8s.io "mine" is forbidden: user "ada"`,
		"is attempting to grant RBAC permissions not currently held",
	} {
		if !strings.Contains(ready.Message, want) {
			t.Errorf("%q is not in: %s", want, ready.Message)
		}
	}
	if c.get(t, "configmaps", "mine-settings") != nil || c.get(t, "rbac.authorization.k8s.io/roles", "mine") != nil ||
		c.get(t, "rbac.authorization.k8s.io/rolebindings", "mine") != nil {
		t.Error("something was created")
	}
}

// TestRightsOfGroups checks that a plan has the rights that its requester has as a member
// of a group.
func TestRightsOfGroups(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "plain", "0.1.0", `
parameters: [{name: SIZE, default: "1"}]
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}, data: {size: '{{ .Params.SIZE }}'}}"}
tasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}}
`)
	bind(t, c, rbacv1.GroupKind, "writers", "edit")
	gil := c.as("gil", "writers")
	waittest.Until(t, "gil may write instances", func() bool {
		return gil.create(t, "instances", `{metadata: {name: mine}, spec: {operatorVersion: {name: plain-0.1.0}}}`) == nil
	})
	c.awaitComplete(t, "mine")
	if c.get(t, "configmaps", "mine") == nil {
		t.Error("nothing was created")
	}
}

// bind binds a user or a group to a ClusterRole in the namespace.
func bind(t *testing.T, c cluster, kind, name, role string) {
	t.Helper()
	_, err := c.RbacV1().RoleBindings(c.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

package controller_test

import (
	"maps"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/waittest"
)

// The objects that users put into parameter values, as a second YAML document.
const (
	power = `none
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
`
	grant = `none
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: NAME}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
`
	note = `none
---
{apiVersion: v1, kind: Secret, metadata: {name: NAME}}
`
)

// noted is an operator with two ConfigMaps: NAME-note has the value of NOTE, and NAME-size
// that of SIZE.
const noted = `
parameters: [{name: NOTE, default: none}, {name: SIZE, default: "1"}]
templates:
  note.yaml: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Name }}-note'}\ndata:\n  note: {{ .Params.NOTE }}"
  size.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-size'}, data: {size: '{{ .Params.SIZE }}'}}"
tasks:
- {name: size, kind: Apply, spec: {resources: [size.yaml]}}
- {name: note, kind: Apply, spec: {resources: [note.yaml]}}
plans: {deploy: {phases: [{name: main, steps: [{name: size, tasks: [size]}, {name: note, tasks: [note]}]}]}}
`

// authorsCluster returns a namespace with the users eve (edit) and ada (admin).
func authorsCluster(t *testing.T) (admin, eve, ada cluster) {
	t.Helper()
	admin = start(t)
	bind(t, admin, rbacv1.UserKind, "eve", "edit")
	bind(t, admin, rbacv1.UserKind, "ada", "admin")
	eve, ada = admin.as("eve"), admin.as("ada")
	admin.operator(t, "empty", "0.1.0", `plans: {deploy: {phases: []}}`)
	for name, user := range map[string]cluster{"of-eve": eve, "of-ada": ada} {
		waittest.Until(t, "the rights of the users", func() bool {
			return user.create(t, "instances", `{metadata: {name: `+name+`}, spec: {operatorVersion: {name: empty-0.1.0}}}`) == nil
		})
	}
	return admin, eve, ada
}

// set changes parameter values of an Instance.
func (c cluster) set(t *testing.T, name string, values map[string]string) {
	t.Helper()
	err := c.change(t, name, func(instance *api.Instance) {
		if instance.Spec.Parameters == nil {
			instance.Spec.Parameters = map[string]string{}
		}
		maps.Copy(instance.Spec.Parameters, values)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitRefused waits until the plan of an Instance has failed with a message that has all
// parts.
func (c cluster) awaitRefused(t *testing.T, name string, parts ...string) {
	t.Helper()
	ready := c.awaitEnd(t, name)
	if ready.Reason != string(api.FatalError) {
		t.Fatalf("%s: %s: %s", name, ready.Reason, ready.Message)
	}
	for _, part := range parts {
		if !strings.Contains(ready.Message, part) {
			t.Errorf("%q is not in: %s", part, ready.Message)
		}
	}
}

// TestSecondDocument lets a user hide an object in a parameter value, and an administrator
// change another parameter.
func TestSecondDocument(t *testing.T) {
	t.Parallel()
	admin, eve, ada := authorsCluster(t)
	admin.operator(t, "noted", "0.1.0", noted)
	for name, test := range map[string]struct {
		user            cluster
		document        string
		resource        string
		own, afterwards string
	}{
		"power": {
			eve, power, "rbac.authorization.k8s.io/clusterrolebindings", `User "eve" cannot`,
			`ClusterRoleBinding power: user "eve" set parameter 'NOTE' and must be allowed to apply this object too: `,
		},
		"grant": {
			ada, grant, "rbac.authorization.k8s.io/roles", `user "ada"`,
			`Role grant: user "ada" set parameter 'NOTE' and must be allowed to apply this object too: ` +
				`roles.rbac.authorization.k8s.io "grant" is forbidden: user "ada"`,
		},
		"binding": {
			eve, strings.NewReplacer("ClusterRoleBinding", "RoleBinding").Replace(power), "rbac.authorization.k8s.io/rolebindings",
			`User "eve" cannot`, `RoleBinding binding: user "eve" set parameter 'NOTE'`,
		},
		"note": {eve, note, "secrets", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.user.install(t, name, "noted-0.1.0", nil)
			test.user.awaitComplete(t, name)
			test.user.set(t, name, map[string]string{"NOTE": strings.ReplaceAll(test.document, "NAME", name)})
			if test.own == "" {
				admin.awaitComplete(t, name)
				admin.set(t, name, map[string]string{"SIZE": "2"})
				admin.awaitComplete(t, name)
				admin.awaitObject(t, test.resource, name)
				return
			}
			admin.awaitRefused(t, name, test.own)
			admin.set(t, name, map[string]string{"SIZE": "2"})
			admin.awaitRefused(t, name, test.afterwards, "run: holdfast kudo update "+name+" --namespace "+admin.Namespace+" --take-over NOTE")
			if admin.get(t, test.resource, name) != nil {
				t.Error("the object was created")
			}
			if size := admin.get(t, "configmaps", name+"-size").Object["data"].(map[string]any)["size"]; size != "1" {
				t.Errorf("the run wrote before it ended: size %v", size)
			}
			admin.takeOver(t, name, "NOTE")
			admin.awaitComplete(t, name)
			if admin.get(t, test.resource, name) == nil {
				t.Error("the administrator took the value over, but the object was not created")
			}
		})
	}
}

// takeOver makes the user the author of a value.
func (c cluster) takeOver(t *testing.T, name string, parameters ...string) {
	t.Helper()
	err := c.change(t, name, func(instance *api.Instance) {
		if err := api.RequestTakeOver(instance, parameters); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, stored := c.instance(t, name).Annotations[api.TakeOverAnnotation]; stored {
		t.Error("the annotation is stored")
	}
}

// TestAuthorOfToggle lets a user switch on objects that the user may not write.
func TestAuthorOfToggle(t *testing.T) {
	t.Parallel()
	admin, eve, _ := authorsCluster(t)
	admin.operator(t, "switched", "0.1.0", `
parameters: [{name: GRANT, default: "false"}, {name: SIZE, default: "1"}]
templates:
  size.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-size'}, data: {size: '{{ .Params.SIZE }}'}}"
  role.yaml: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: '{{ .Name }}'}}"
tasks:
- {name: size, kind: Apply, spec: {resources: [size.yaml]}}
- {name: role, kind: Toggle, spec: {parameter: GRANT, resources: [role.yaml]}}
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [size, role]}]}]}}
`)
	const roles = "rbac.authorization.k8s.io/clusterroles"
	eve.install(t, "on", "switched-0.1.0", map[string]string{"GRANT": "true"})
	admin.awaitRefused(t, "on", `User "eve" cannot`)
	admin.set(t, "on", map[string]string{"SIZE": "2"})
	admin.awaitRefused(t, "on", `ClusterRole on: user "eve" set parameter 'GRANT' and must be allowed to apply this object too: `)
	if admin.get(t, roles, "on") != nil || admin.get(t, "configmaps", "on-size") != nil {
		t.Error("something was created")
	}

	admin.install(t, "off", "switched-0.1.0", map[string]string{"GRANT": "true"})
	admin.awaitComplete(t, "off")
	eve.set(t, "off", map[string]string{"GRANT": "0"})
	admin.awaitRefused(t, "off", `User "eve" cannot`)
	admin.set(t, "off", map[string]string{"SIZE": "2"})
	admin.awaitRefused(t, "off", `ClusterRole off: user "eve" set parameter 'GRANT' and must be allowed to delete this object too: `)
	if admin.get(t, roles, "off") == nil {
		t.Error("the object was deleted")
	}
}

// TestAuthorOfDeletion lets a user choose the object that a plan deletes, and the object that
// a plan no longer renders.
func TestAuthorOfDeletion(t *testing.T) {
	t.Parallel()
	admin, eve, _ := authorsCluster(t)
	admin.operator(t, "tidy", "0.1.0", `
parameters: [{name: OLD, default: none}, {name: KEEP, default: "yes"}, {name: SIZE, default: "1"}]
templates:
  size.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-size'}, data: {size: '{{ .Params.SIZE }}'}}"
  role.yaml: |
    {{ if eq .Params.KEEP "yes" }}
    {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: '{{ .Name }}'}}
    {{ end }}
  old.yaml: "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: '{{ .Params.OLD }}'}}"
tasks:
- {name: size, kind: Apply, spec: {resources: [size.yaml]}}
- {name: role, kind: Apply, spec: {resources: [role.yaml]}}
- {name: old, kind: Delete, spec: {resources: [old.yaml]}}
plans:
  deploy: {phases: [{name: main, steps: [{name: all, tasks: [size, role]}]}]}
  update: {phases: [{name: main, steps: [{name: all, tasks: [size, old]}]}]}
`)
	const roles = "rbac.authorization.k8s.io/roles"
	for name, test := range map[string]struct{ parameter, value string }{
		"pruned":  {"KEEP", "no"},
		"deleted": {"OLD", "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admin.install(t, name, "tidy-0.1.0", nil)
			admin.awaitComplete(t, name)
			eve.set(t, name, map[string]string{test.parameter: test.value})
			admin.awaitRefused(t, name, `Role `+name+`: `, `User "eve" cannot`)
			admin.set(t, name, map[string]string{"SIZE": "2"})
			admin.awaitRefused(t, name, `Role `+name+`: user "eve" set parameter '`+test.parameter+
				`' and must be allowed to delete this object too: `)
			if admin.get(t, roles, name) == nil {
				t.Error("the object was deleted")
			}
			if size := admin.get(t, "configmaps", name+"-size").Object["data"].(map[string]any)["size"]; size != "1" {
				t.Errorf("the run wrote before it ended: size %v", size)
			}
		})
	}
}

// TestAuthorInRollback lets a value return from the record of an earlier version.
func TestAuthorInRollback(t *testing.T) {
	t.Parallel()
	admin, eve, _ := authorsCluster(t)
	admin.operator(t, "noted", "0.1.0", noted)
	admin.operator(t, "noted", "0.2.0", strings.NewReplacer("{name: NOTE, default: none}, ", "", "{{ .Params.NOTE }}", "none").Replace(noted))
	eve.install(t, "back", "noted-0.1.0", map[string]string{"NOTE": strings.ReplaceAll(power, "NAME", "back")})
	admin.awaitRefused(t, "back", `User "eve" cannot`)
	version := func(name string, annotations map[string]string) {
		t.Helper()
		if err := admin.change(t, "back", func(instance *api.Instance) {
			instance.Spec.OperatorVersion.Name = name
			maps.Copy(instance.Annotations, annotations)
		}); err != nil {
			t.Fatal(err)
		}
	}
	version("noted-0.2.0", nil)
	admin.awaitComplete(t, "back")
	version("noted-0.1.0", map[string]string{api.RollbackAnnotation: "noted-0.1.0"})
	admin.awaitRefused(t, "back", `ClusterRoleBinding back: user "eve" set parameter 'NOTE'`)
	if admin.get(t, "rbac.authorization.k8s.io/clusterrolebindings", "back") != nil {
		t.Error("the object was created")
	}
}

// TestAuthorOfLaterKind checks a value in an object of a kind that an earlier step defines.
func TestAuthorOfLaterKind(t *testing.T) {
	t.Parallel()
	admin, eve, _ := authorsCluster(t)
	admin.operator(t, "defining", "0.1.0", `
parameters: [{name: SIZE, default: "1"}, {name: OTHER, default: "1"}]
templates:
  kind.yaml: |
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: gears.example.com}
    spec:
      group: example.com
      scope: Namespaced
      names: {kind: Gear, plural: gears}
      versions:
      - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  gear.yaml: "{apiVersion: example.com/v1, kind: Gear, metadata: {name: '{{ .Name }}'}, spec: {size: '{{ .Params.SIZE }}'}}"
tasks:
- {name: kind, kind: Apply, spec: {resources: [kind.yaml]}}
- {name: gear, kind: Apply, spec: {resources: [gear.yaml]}}
plans: {deploy: {phases: [{name: main, steps: [{name: kind, tasks: [kind]}, {name: gear, tasks: [gear]}]}]}}
`)
	eve.install(t, "late", "defining-0.1.0", map[string]string{"SIZE": "2"})
	admin.awaitRefused(t, "late", `User "eve" cannot`)
	admin.set(t, "late", map[string]string{"OTHER": "2"})
	admin.awaitRefused(t, "late",
		`main.gear: task gear: Gear late: user "eve" set parameter 'SIZE' and must be allowed to apply this object too: `)
	if _, err := admin.Discovery().RESTClient().Get().AbsPath("/apis/example.com/v1/namespaces/" + admin.Namespace + "/gears/late").
		DoRaw(t.Context()); err == nil {
		t.Error("the object was created")
	}
	eve.set(t, "late", map[string]string{"OTHER": "3"})
	admin.awaitRefused(t, "late", `User "eve" cannot`)
	admin.takeOver(t, "late", "SIZE", "OTHER")
	admin.awaitComplete(t, "late")
}

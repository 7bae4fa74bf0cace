package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/waittest"
)

// wired is an OperatorVersion as KUDO writes it: the type of a parameter is its value-type, a
// parameter without required is not required, and the reference to the Operator is left out.
const wired = `
metadata: {name: wired-0.1.0}
spec:
  version: 0.1.0
  parameters: [{name: HOSTS, value-type: array}, {name: NOTE}, {name: FIXED, default: a, immutable: true}]
  templates:
    a.yaml: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: '{{ .Name }}'}
      data: {first: '{{ index .Params.HOSTS 0 }}', fixed: '{{ .Params.FIXED }}{{ .Params.NOTE }}'}
  tasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]
  plans: {deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}}
`

// TestWire runs an OperatorVersion with KUDO's field names from another namespace.
func TestWire(t *testing.T) {
	t.Parallel()
	c := start(t)
	shared := c
	shared.Namespace = "shared"
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: shared.Namespace},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	shared.mustCreate(t, "operatorversions", wired)
	const instance = `{metadata: {name: a}, spec: {operatorVersion: {name: wired-0.1.0, namespace: shared}, parameters: {HOSTS: "[x, y]"}}}`

	// The second user is the manager on other clusters. On our own server it is any user.
	for _, name := range []string{"eve", "system:serviceaccount:kudo-system:kudo-manager"} {
		bind(t, c, rbacv1.UserKind, name, "edit")
		waittest.Until(t, name+" may write instances", func() bool {
			err := c.as(name).create(t, "instances", instance)
			if err == nil {
				t.Fatalf("%s uses an operator version that it may not get", name)
			}
			return strings.Contains(err.Error(),
				`operator version shared/wired-0.1.0 is in another namespace: user "`+name+`" must be allowed to get it there`)
		})
	}
	c.mustCreate(t, "instances", instance)
	c.awaitComplete(t, "a")
	data := c.get(t, "configmaps", "a").Object["data"].(map[string]any)
	if data["first"] != "x" || data["fixed"] != "a" {
		t.Errorf("data %v", data)
	}

	// An OperatorVersion of the same name in another namespace is another version. It cannot
	// replace the definition of an immutable parameter.
	c.mustCreate(t, "operatorversions", strings.Replace(wired, ", immutable: true", "", 1))
	err := c.change(t, "a", func(i *api.Instance) {
		i.Spec.OperatorVersion.Namespace, i.Spec.Parameters["FIXED"] = "", "b"
	})
	if err == nil || !strings.Contains(err.Error(), "operator version wired-0.1.0 is not higher than wired-0.1.0") {
		t.Errorf("got %v", err)
	}
	if err := c.create(t, "instances", `{metadata: {name: none}, spec: {}}`); err == nil ||
		!strings.Contains(err.Error(), "is invalid: ") || !strings.Contains(err.Error(), "operatorVersion") {
		t.Errorf("an instance without an operator version: %v", err)
	}
}

package controller_test

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/api"
)

// parentOf returns an operator that passes its parameters NOTE and SIZE to an Instance of
// another operator.
func parentOf(child string) string {
	return `
parameters: [{name: NOTE, default: none}, {name: SIZE, default: "1"}]
templates: {child.yaml: "NOTE: {{ .Params.NOTE | toJson }}\nSIZE: {{ .Params.SIZE | toJson }}"}
tasks:
- {name: child, kind: KudoOperator, spec: {package: ` + child + `, operatorVersion: 0.1.0, parameterFile: child.yaml}}
plans: {deploy: {phases: [{name: main, steps: [{name: child, tasks: [child]}]}]}}
`
}

// TestAuthorsOfDependency passes a hidden object through the Instances of two dependencies. A
// user that takes the value over at the top unblocks them all.
func TestAuthorsOfDependency(t *testing.T) {
	t.Parallel()
	admin, eve, _ := authorsCluster(t)
	admin.operator(t, "leaf", "0.1.0", noted)
	admin.operator(t, "branch", "0.1.0", parentOf("leaf"))
	admin.operator(t, "root", "0.1.0", parentOf("branch"))
	const bindings, leaf = "rbac.authorization.k8s.io/clusterrolebindings", "top-branch-leaf"
	eve.install(t, "top", "root-0.1.0", nil)
	admin.awaitComplete(t, "top")
	eve.set(t, "top", map[string]string{"NOTE": strings.ReplaceAll(power, "NAME", "top")})
	admin.awaitRefused(t, "top", `User "eve" cannot`)
	admin.set(t, "top", map[string]string{"SIZE": "2"})
	admin.awaitRefused(t, "top", `ClusterRoleBinding top: user "eve" set parameter 'NOTE'`,
		"holdfast kudo update top-branch --namespace "+admin.Namespace+" --take-over NAME")
	if admin.get(t, bindings, "top") != nil {
		t.Error("the object was created")
	}
	// Nor does the plan of the dependency itself create it, by whomever it is requested.
	if err := admin.change(t, leaf, func(i *api.Instance) { i.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
		t.Fatal(err)
	}
	admin.awaitRefused(t, leaf, `ClusterRoleBinding top: user "eve" set parameter 'NOTE'`)

	admin.takeOver(t, "top", "NOTE")
	admin.awaitComplete(t, "top")
	if admin.get(t, bindings, "top") == nil {
		t.Error("the administrator took the value over, but the object was not created")
	}
}

// TestAuthorsOfRenderedInstance hides an Instance in a value. Its operator creates an object
// that names no parameter and that the author may not create.
func TestAuthorsOfRenderedInstance(t *testing.T) {
	t.Parallel()
	admin, eve, _ := authorsCluster(t)
	admin.operator(t, "greedy", "0.1.0", greedy)
	admin.operator(t, "noted", "0.1.0", noted)
	eve.install(t, "host", "noted-0.1.0", nil)
	admin.awaitComplete(t, "host")
	eve.set(t, "host", map[string]string{"NOTE": `none
---
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata: {name: guest, annotations: {holdfast.dev/inherited-authors: forged}}
spec: {operatorVersion: {name: greedy-0.1.0}}
`})
	admin.awaitRefused(t, "host", `Instance guest: `, `User "eve" cannot`)
	admin.set(t, "host", map[string]string{"SIZE": "2"})
	admin.awaitRefused(t, "host", `Instance guest: `)
	if err := admin.change(t, "guest", func(i *api.Instance) { i.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
		t.Fatal(err)
	}
	admin.awaitRefused(t, "guest", `ClusterRoleBinding guest-power: user "eve" set values of the instance that this instance is part of`,
		"holdfast kudo update host --namespace "+admin.Namespace+" --take-over NAME")
	if admin.get(t, "rbac.authorization.k8s.io/clusterrolebindings", "guest-power") != nil {
		t.Error("the object was created")
	}
}

// TestForgedInheritedAuthors lets a client send the annotation with which the controller
// passes authors. The values of the write then have an unknown author.
func TestForgedInheritedAuthors(t *testing.T) {
	t.Parallel()
	admin, eve, _ := authorsCluster(t)
	admin.operator(t, "noted", "0.1.0", noted)
	admin.install(t, "forged", "noted-0.1.0", nil)
	admin.awaitComplete(t, "forged")
	if err := eve.change(t, "forged", func(instance *api.Instance) {
		instance.Spec.Parameters = map[string]string{"NOTE": "mine"}
		api.SetAnnotation(instance, api.InheritedAuthorsAnnotation, "v1.forged.AAAA")
	}); err != nil {
		t.Fatal(err)
	}
	admin.awaitRefused(t, "forged", `it is not known which user set`, `'NOTE'`)
}

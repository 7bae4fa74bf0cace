package kudo_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// testLeftovers checks what uninstall does with cluster-scoped objects, and what it says about
// a cleanup that fails.
func testLeftovers(t *testing.T, c cluster) {
	const phases = "{phases: [{name: main, steps: [{name: only, tasks: [TASK]}]}]}"
	plan := func(task string) string { return strings.ReplaceAll(phases, "TASK", task) }
	location := folder(t, map[string]string{
		"operator.yaml": "name: roles\noperatorVersion: 0.1.0\n" +
			"tasks: [{name: role, kind: Apply, spec: {resources: [role.yaml]}}, {name: fail, kind: Dummy, spec: {wantErr: true, fatal: true}}]\n" +
			"plans: {deploy: " + plan("role") + ", cleanup: " + plan("fail") + "}\n",
		"templates/role.yaml": "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: leftovers}, rules: []}",
	})
	const role = "ClusterRole.rbac.authorization.k8s.io leftovers "
	for _, name := range []string{"first", "second", "third"} {
		c.must(t, "install", location, "--instance", name, "--wait")
	}
	failed := func(want string, args ...string) {
		t.Helper()
		c.awaitPlans(t)
		out, err := c.kudo(t.Context(), append([]string{"uninstall"}, args...)...)
		const reason = " failed: main.only: task fail: the task is meant to fail for good"
		if out != want || err == nil || err.Error() != "the plan cleanup of instance "+args[0]+reason {
			t.Errorf("uninstall %v: %v\n%s", args, err, out)
		}
	}
	failed("instance first is gone\n"+role+"stays\n", "first", "--wait")
	failed("instance second is gone\n"+role+"stays: another instance uses it\n", "second", "--delete-cluster-scoped")
	failed("instance third is gone\n"+role+"is deleted\n", "third", "--delete-cluster-scoped")
}

// testDefinitionLeft checks that uninstall deletes no definition that has objects.
func testDefinitionLeft(t *testing.T, c cluster) {
	location := publicPackage(t, "definitions", "0.1.0")
	databases := c.Dynamic.Resource(schema.GroupVersionResource{Group: "public.example.com", Version: "v1", Resource: "databases"}).
		Namespace(c.Namespace)
	uninstall := func(definition string) {
		t.Helper()
		c.must(t, "install", location, "--wait")
		if definition != "is deleted" {
			mine := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "public.example.com/v1", "kind": "Database", "metadata": map[string]any{"name": "mine"},
			}}
			if _, err := databases.Create(t.Context(), mine, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		out := c.must(t, "uninstall", "definitions-instance", "--delete-cluster-scoped")
		want := "instance definitions-instance is gone\n" +
			"ClusterRole.rbac.authorization.k8s.io public-databases is deleted\n" +
			"CustomResourceDefinition.apiextensions.k8s.io databases.public.example.com " + definition + "\n"
		if out != want {
			t.Errorf("got:\n%swant:\n%s", out, want)
		}
	}
	uninstall("stays: it has objects")
	if err := databases.Delete(t.Context(), "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	uninstall("is deleted")
}

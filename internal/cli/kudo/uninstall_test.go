package kudo_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
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

	// The object of the instance exists for a while after the instance: a finalizer stands for a
	// garbage collector that is slow.
	c.must(t, "install", location, "--wait")
	const name = "definitions-instance"
	setFinalizers := func(finalizers string) error {
		_, err := databases.Patch(t.Context(), name, types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
		return err
	}
	if err := setFinalizers(`["example.com/wait"]`); err != nil {
		t.Fatal(err)
	}
	c.must(t, "uninstall", name)
	c.awaitGone(t, name)
	definition := "CustomResourceDefinition.apiextensions.k8s.io databases.public.example.com "
	if out := c.must(t, "uninstall", name, "--delete-cluster-scoped", "--timeout", "200ms"); !strings.HasSuffix(out, definition+"stays: it has objects\n") {
		t.Errorf("with an object that stays:\n%s", out)
	}
	freed := make(chan error, 1)
	free := func() { go func() { freed <- setFinalizers("null") }() }
	out := &trigger{text: "is gone\n", then: free}
	if err := c.run(t.Context(), out, "uninstall", name, "--delete-cluster-scoped"); err != nil {
		t.Error(err)
	}
	if err := <-freed; err != nil {
		t.Error(err)
	}
	if got := out.String(); !strings.HasSuffix(got, definition+"is deleted\n") {
		t.Errorf("with an object that goes:\n%s", got)
	}
}

// awaitGone waits until an Instance is gone.
func (c cluster) awaitGone(t *testing.T, name string) {
	t.Helper()
	waittest.Until(t, "instance "+name+" is gone", func() bool {
		_, err := c.resource("instances").Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// testLeftOfEarlier checks that uninstall finds the cluster-scoped objects of an Instance that is
// gone, and takes those of no other Instance.
func testLeftOfEarlier(t *testing.T, c cluster) {
	install := func(c cluster, role string) {
		t.Helper()
		c.must(t, "install", folder(t, map[string]string{
			"operator.yaml": "name: " + role + "\noperatorVersion: 0.1.0\ntasks: [{name: role, kind: Apply, spec: {resources: [role.yaml]}}]\n" +
				"plans: {deploy: {phases: [{name: main, steps: [{name: only, tasks: [role]}]}]}}\n",
			"templates/role.yaml": "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " + role + "}, rules: []}",
		}), "--instance", "same", "--wait")
	}
	other := c.enter(t, "left-elsewhere")
	install(c, "left-here")
	install(other, "left-there")
	const role = "ClusterRole.rbac.authorization.k8s.io "
	for _, each := range []cluster{c, other} {
		each.must(t, "uninstall", "same")
		each.awaitGone(t, "same")
	}
	expect := func(c cluster, want string, args ...string) {
		t.Helper()
		if got := c.must(t, append([]string{"uninstall", "same"}, args...)...); got != want {
			t.Errorf("uninstall same %v: got:\n%swant:\n%s", args, got, want)
		}
	}
	expect(c, "instance same is gone\n"+role+"left-here stays\n", "--wait")
	expect(c, "instance same is gone\n"+role+"left-here is deleted\n", "--delete-cluster-scoped")
	c.fails(t, "there is no instance same in namespace "+c.Namespace, "uninstall", "same", "--delete-cluster-scoped")

	// An object of an earlier release does not name the namespace of its Instance.
	_, err := c.RbacV1().ClusterRoles().Patch(t.Context(), "left-there", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+api.OwnerNamesAnnotation+`":null}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const unknown = "stays: an earlier release created it, and it may be of an instance of this name in another namespace\n"
	expect(other, "instance same is gone\n"+role+"left-there "+unknown, "--delete-cluster-scoped")
	// A new Instance takes the object over.
	install(c, "left-there")
	c.must(t, "uninstall", "same", "--wait")
	expect(c, "instance same is gone\n"+role+"left-there is deleted\n", "--delete-cluster-scoped")
}

// TestUninstallRestart checks that uninstall works on a server that was started after the last
// write of the instance, and that it waits on while the server restarts.
func TestUninstallRestart(t *testing.T) {
	config := apiserver.Config{DataDir: t.TempDir(), Port: servertest.FreePort(t)}
	server := servertest.Start(t, config)
	restart := func() {
		t.Helper()
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		server = servertest.Start(t, config)
	}
	c := clusterOf(t, server)
	const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: restarted}, rules: []}"
	c.must(t, "install", folder(t, map[string]string{
		"operator.yaml": "name: roles\noperatorVersion: 0.1.0\ntasks: [{name: role, kind: Apply, spec: {resources: [role.yaml]}}]\n" +
			"plans: {deploy: {phases: [{name: main, steps: [{name: only, tasks: [role]}]}]}}\n",
		"templates/role.yaml": role,
	}), "--instance", "roles", "--wait")
	c.must(t, "install", hang(t), "--instance", "hang", "--wait")
	restart()
	out, err := c.kudo(t.Context(), "uninstall", "roles", "--delete-cluster-scoped")
	if want := "instance roles is gone\nClusterRole.rbac.authorization.k8s.io restarted is deleted\n"; err != nil || out != want {
		t.Errorf("after a restart: %v\n%s", err, out)
	}

	type result struct {
		out string
		err error
	}
	ended := make(chan result, 1)
	go func() {
		out, err := c.kudo(t.Context(), "uninstall", "hang", "--wait")
		ended <- result{out, err}
	}()
	waittest.Until(t, "cleanup runs", func() bool { return c.instance(t, "hang").RunningPlan() == "cleanup" })
	restart()
	waittest.Until(t, "the instance has no finalizer", func() error {
		return c.patch(t.Context(), "hang", `{"metadata":{"finalizers":null}}`)
	})
	if got := waittest.Receive(t, "the end of the command", ended); got.err != nil || got.out != "instance hang is gone\n" {
		t.Errorf("during a restart: %v\n%s", got.err, got.out)
	}
}

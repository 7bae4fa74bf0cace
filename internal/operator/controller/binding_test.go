package controller_test

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/waittest"
)

// replaceable is the OperatorVersion that tests delete and create again with other
// content. NAME becomes part of the names of its objects. WAITED is true or false and
// decides whether the first step of plan deploy ends.
const replaceable = `
parameters: [{name: SIZE, default: "1"}]
templates:
  a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-NAME'}}"
  left.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: precious-NAME}}"
tasks:
- {name: clean, kind: Delete, spec: {resources: [left.yaml]}}
- {name: wait, kind: Dummy, spec: {done: WAITED}}
- {name: a, kind: Apply, spec: {resources: [a.yaml]}}
plans:
  deploy: {phases: [{name: main, steps: [{name: wait, tasks: [wait]}, {name: a, tasks: [a]}]}]}
  cleanup: {phases: [{name: main, steps: [{name: clean, tasks: [clean]}]}]}
`

// replacing is a cluster with its etcd: a test removes an OperatorVersion there, because the server refuses to delete one that Instances use.
type replacing struct {
	cluster
	etcd *clientv3.Client
}

// enter returns the clients for a new namespace.
func (c replacing) enter(t *testing.T, namespace string) replacing {
	t.Helper()
	c.Namespace = servertest.CreateNamespace(t, c, namespace)
	return c
}

// remove removes an OperatorVersion although Instances may use it.
func (c replacing) remove(t *testing.T, name string) {
	t.Helper()
	removed, err := c.etcd.Delete(t.Context(), storage.KeyPrefix+"/kudo.dev/operatorversions/"+c.Namespace+"/"+name)
	if err != nil || removed.Deleted != 1 {
		t.Fatalf("%d objects of the name %s are removed: %v", removed.Deleted, name, err)
	}
	waittest.Until(t, "the server has seen that "+name+" is gone", func() bool {
		_, err := c.kudo("operatorversions").Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// replace deletes an OperatorVersion and creates it again with other content.
func (c replacing) replace(t *testing.T, operator, name, waited string) {
	t.Helper()
	c.remove(t, operator+"-0.1.0")
	c.operator(t, operator, "0.1.0", strings.NewReplacer("NAME", name, "WAITED", waited).Replace(replaceable))
}

// replaceable creates the original OperatorVersion.
func (c cluster) replaceable(t *testing.T, operator, waited string) {
	t.Helper()
	c.operator(t, operator, "0.1.0", strings.NewReplacer("NAME", "good", "WAITED", waited).Replace(replaceable))
}

// replaced is the end of the message about an OperatorVersion with other content.
const replaced = "-0.1.0 has other content than when the plan was asked for: it was deleted and created anew. " +
	"Look at it, and trigger the plan again to run it as it is now"

// TestReplacedVersion checks what plans do when their OperatorVersion was replaced.
func TestReplacedVersion(t *testing.T) {
	t.Parallel()
	address := servertest.StartEtcd(t, transport.TLSInfo{})
	var c replacing
	var err error
	if c.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{address}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.etcd.Close() })
	c.cluster, _ = startAt(t, apiserver.Config{Etcd: etcd.Cluster{Servers: []string{address}}})
	for name, test := range map[string]func(*testing.T, replacing){
		"running":    testVersionReplacedWhileRunning,
		"recreated":  testVersionRecreated,
		"cleanup":    testVersionReplacedBeforeCleanup,
		"dependency": testVersionOfDependencyReplaced,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c.enter(t, name))
		})
	}
}

// testVersionReplacedWhileRunning checks that a running plan ends when its OperatorVersion
// is replaced, and that the other templates are not applied with the requester's rights.
func testVersionReplacedWhileRunning(t *testing.T, c replacing) {
	c.replaceable(t, "run", "false")
	c.install(t, "mine", "run-0.1.0", nil)
	c.awaitMessage(t, "mine", "the task is meant to wait")
	c.replace(t, "run", "bad", "true")
	if ready := c.awaitEnd(t, "mine"); ready.Reason != string(api.FatalError) || ready.Message != "plan deploy: operator version run"+
		replaced {
		t.Errorf("%s: %s", ready.Reason, ready.Message)
	}
	if c.get(t, "configmaps", "mine-bad") != nil {
		t.Error("the other templates were run")
	}

	// A new request runs the current content.
	if err := c.change(t, "mine", func(i *api.Instance) { i.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "mine")
	if c.get(t, "configmaps", "mine-bad") == nil {
		t.Error("the plan that was requested again did not run")
	}
}

// testVersionRecreated checks that a plan continues when its OperatorVersion is created
// again with the same content, although the UID differs.
func testVersionRecreated(t *testing.T, c replacing) {
	c.replaceable(t, "back", "false")
	c.install(t, "mine", "back-0.1.0", nil)
	c.awaitMessage(t, "mine", "the task is meant to wait")
	c.remove(t, "back-0.1.0")
	c.awaitMessage(t, "mine", "operator version back-0.1.0 does not exist")
	c.replaceable(t, "back", "false")
	c.awaitMessage(t, "mine", "the task is meant to wait")
}

// testVersionReplacedBeforeCleanup checks that the cleanup plan of a replaced
// OperatorVersion does not run with the requester's rights.
func testVersionReplacedBeforeCleanup(t *testing.T, c replacing) {
	c.replaceable(t, "clean", "true")
	uninstall := func(name string) {
		t.Helper()
		if err := c.kudo("instances").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the instance gone", func() bool {
			_, err := c.kudo("instances").Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	for _, name := range []string{"first", "second"} {
		c.install(t, name, "clean-0.1.0", nil)
		c.awaitComplete(t, name)
	}
	c.keep(t, "precious-good", "first")
	c.keep(t, "precious-bad", "second")
	uninstall("first")
	if c.get(t, "configmaps", "precious-good") != nil {
		t.Error("the cleanup was not run")
	}
	c.replace(t, "clean", "bad", "true")
	uninstall("second")
	if c.get(t, "configmaps", "precious-bad") == nil {
		t.Error("the other cleanup was run")
	}
}

// testVersionOfDependencyReplaced checks that a plan fails if the OperatorVersion of its
// dependency was replaced.
func testVersionOfDependencyReplaced(t *testing.T, c replacing) {
	c.replaceable(t, "child", "true")
	c.operator(t, "parent", "0.1.0", `
parameters: [{name: SIZE, default: "1"}]
templates: {child.yaml: "SIZE: {{ .Params.SIZE }}"}
tasks: [{name: child, kind: KudoOperator, spec: {package: child, operatorVersion: 0.1.0, parameterFile: child.yaml}}]
plans: {deploy: {phases: [{name: main, steps: [{name: child, tasks: [child]}]}]}}
`)
	c.install(t, "top", "parent-0.1.0", nil)
	c.awaitComplete(t, "top")
	c.replace(t, "child", "bad", "true")
	if err := c.change(t, "top", func(i *api.Instance) { i.Spec.Parameters = map[string]string{"SIZE": "2"} }); err != nil {
		t.Fatal(err)
	}
	ready := c.awaitEnd(t, "top")
	want := "instance top-child: operator version child" + replaced
	if ready.Reason != string(api.FatalError) || !strings.HasSuffix(ready.Message, want) {
		t.Errorf("%s: %s", ready.Reason, ready.Message)
	}
	if c.get(t, "configmaps", "top-child-bad") != nil {
		t.Error("the other templates were run")
	}
}

// TestValueNotPinned checks that an Instance which is stored without a value for an immutable parameter gets the effective value with its next accepted
// write. Another server stores it, which does not admit operator packages.
func TestValueNotPinned(t *testing.T) {
	t.Parallel()
	stored := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	c, _ := startAt(t, apiserver.Config{Etcd: stored})
	unchecked, _ := startAt(t, apiserver.Config{Etcd: stored, WithoutOperators: true})
	c.operator(t, "late", "0.1.0", `
parameters: [{name: X, default: d, immutable: true}]
plans: {deploy: {phases: []}}
`)
	waittest.Until(t, "an instance without values is stored", func() bool {
		return unchecked.create(t, "instances", `{metadata: {name: late}, spec: {operatorVersion: {name: late-0.1.0}}}`) == nil
	})
	if values := c.instance(t, "late").Spec.Parameters; len(values) > 0 {
		t.Fatalf("stored with %v", values)
	}
	if err := c.change(t, "late", func(i *api.Instance) { i.Labels = map[string]string{"a": "b"} }); err != nil {
		t.Fatal(err)
	}
	if value := c.instance(t, "late").Spec.Parameters["X"]; value != "d" {
		t.Errorf("X is %q", value)
	}
}

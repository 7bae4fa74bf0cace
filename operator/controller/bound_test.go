package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/api"
)

// swappable is an operator whose templates somebody replaces: NAME is in the name
// of what they make, WAITED says whether the first step is ever done.
const swappable = `
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

// swap deletes an OperatorVersion and creates it anew.
func (c cluster) swap(t *testing.T, operator, name, waited string) {
	t.Helper()
	if err := c.kudo("operatorversions").Delete(t.Context(), operator+"-0.1.0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.operator(t, operator, "0.1.0", strings.NewReplacer("NAME", name, "WAITED", waited).Replace(swappable))
}

func (c cluster) swappable(t *testing.T, operator, waited string) {
	t.Helper()
	c.operator(t, operator, "0.1.0", strings.NewReplacer("NAME", "good", "WAITED", waited).Replace(swappable))
}

const swapped = "-0.1.0 has other content than when the plan was asked for: it was deleted and created anew. Look at it, and trigger the plan again to run it as it is now"

// TestSwappedWhileRunning: other templates under the name of the version that a
// plan is running are not run with the rights of who asked for the plan.
func TestSwappedWhileRunning(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.swappable(t, "run", "false")
	c.install(t, "mine", "run-0.1.0", nil)
	c.says(t, "mine", "the task is meant to wait")
	c.swap(t, "run", "bad", "true")
	if ready := c.ended(t, "mine"); ready.Reason != string(api.FatalError) || ready.Message != "plan deploy: operator version run"+swapped {
		t.Errorf("%s: %s", ready.Reason, ready.Message)
	}
	if c.get(t, "configmaps", "mine-bad") != nil {
		t.Error("the other templates were run")
	}

	// Who asks again asks for what is there now.
	if err := c.change(t, "mine", func(i *api.Instance) { i.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "mine")
	if c.get(t, "configmaps", "mine-bad") == nil {
		t.Error("a plan that was asked for anew did not run")
	}
}

// TestSwappedBack: the same content again is the same, whatever its UID is.
func TestSwappedBack(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.swappable(t, "back", "false")
	c.install(t, "mine", "back-0.1.0", nil)
	c.says(t, "mine", "the task is meant to wait")
	if err := c.kudo("operatorversions").Delete(t.Context(), "back-0.1.0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.says(t, "mine", "operator version back-0.1.0 does not exist")
	c.swappable(t, "back", "false")
	c.says(t, "mine", "the task is meant to wait")
}

// TestSwappedBeforeCleanup: nor is a cleanup that nobody has asked for.
func TestSwappedBeforeCleanup(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.swappable(t, "clean", "true")
	for _, name := range []string{"precious-good", "precious-bad"} {
		if _, err := c.typed.CoreV1().ConfigMaps(c.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	uninstall := func(name string) {
		t.Helper()
		if err := c.kudo("instances").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		servertest.Eventually(t, "the instance gone", func() bool {
			_, err := c.kudo("instances").Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	for _, name := range []string{"first", "second"} {
		c.install(t, name, "clean-0.1.0", nil)
		c.complete(t, name)
	}
	uninstall("first")
	if c.get(t, "configmaps", "precious-good") != nil {
		t.Error("the cleanup was not run")
	}
	c.swap(t, "clean", "bad", "true")
	uninstall("second")
	if c.get(t, "configmaps", "precious-bad") == nil {
		t.Error("the other cleanup was run")
	}
}

// TestSwappedDependency: who runs a plan of an operator does not ask for other
// content of one that it brought along.
func TestSwappedDependency(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.swappable(t, "child", "true")
	c.operator(t, "parent", "0.1.0", `
parameters: [{name: SIZE, default: "1"}]
templates: {child.yaml: "SIZE: {{ .Params.SIZE }}"}
tasks: [{name: child, kind: KudoOperator, spec: {package: child, operatorVersion: 0.1.0, parameterFile: child.yaml}}]
plans: {deploy: {phases: [{name: main, steps: [{name: child, tasks: [child]}]}]}}
`)
	c.install(t, "top", "parent-0.1.0", nil)
	c.complete(t, "top")
	c.swap(t, "child", "bad", "true")
	if err := c.change(t, "top", func(i *api.Instance) { i.Spec.Parameters = map[string]string{"SIZE": "2"} }); err != nil {
		t.Fatal(err)
	}
	ready := c.ended(t, "top")
	if want := "instance top-child: operator version child" + swapped; ready.Reason != string(api.FatalError) || !strings.HasSuffix(ready.Message, want) {
		t.Errorf("%s: %s", ready.Reason, ready.Message)
	}
	if c.get(t, "configmaps", "top-child-bad") != nil {
		t.Error("the other templates were run")
	}
}

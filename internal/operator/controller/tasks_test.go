package controller_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestTasks checks the outcome of each kind of task. It also checks that the step before is
// not executed if the dry run already shows that the plan cannot succeed.
func TestTasks(t *testing.T) {
	t.Parallel()
	c := start(t)
	if _, err := c.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "taken"}, Data: map[string]string{"whose": "mine"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		templates, task string
		state           api.State
		message         string
		created         bool
	}{
		"dummy": {task: `{kind: Dummy, spec: {done: true}}`, state: api.Complete, created: true},
		"dummy-error": {
			task:    `{kind: Dummy, spec: {wantErr: true}}`,
			state:   api.Error,
			message: "main.task: task task: the task is meant to fail",
			created: true,
		},
		"dummy-fatal": {task: `{kind: Dummy, spec: {wantErr: true, fatal: true}}`, state: api.FatalError, message: "for good", created: true},
		"dummy-wait":  {task: `{kind: Dummy}`, state: api.InProgress, message: "the task is meant to wait", created: true},
		"pipe": {
			templates: "a.yaml: '{spec: {initContainers: [{name: a, image: a}]}}'",
			task:      `{kind: Pipe, spec: {pod: a.yaml}}`,
			state:     api.FatalError,
			message:   "a.yaml: pod: spec.volumes: a pipe pod has exactly one of type emptyDir, for the files",
		},
		"no-template": {task: `{kind: Apply, spec: {resources: [gone.yaml]}}`, state: api.FatalError, message: "has no template gone.yaml"},
		"no-object": {
			templates: "a.yaml: 'kind: ConfigMap'",
			task:      `{kind: Apply, spec: {resources: [a.yaml]}}`,
			state:     api.FatalError,
			message:   "a.yaml: document 1: apiVersion: required",
		},
		"broken": {
			templates: "a.yaml: '{{ .Params.MISSING }}'",
			task:      `{kind: Apply, spec: {resources: [a.yaml]}}`,
			state:     api.FatalError,
			message:   "MISSING",
		},
		"toggle": {
			task:    `{kind: Toggle, spec: {parameter: WHO, resources: []}}`,
			state:   api.FatalError,
			message: "parameter 'WHO' decides whether objects are there and is neither true nor false but 'me'",
		},
		"null": {
			templates: `a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}, data: {list: '` +
				`{{ toYaml .Params.LIST }} {{ len .Params.LIST }} {{ kindOf .Params.TABLE }} {{ toYaml .Params.TABLE }}'}}"`,
			task: `{kind: Apply, spec: {resources: [a.yaml]}}`, state: api.Complete, created: true,
		},
		"unknown-field": {
			templates: `a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}', color: red}, data: {a: b}, spec: {}}"`,
			task:      `{kind: Apply, spec: {resources: [a.yaml]}}`, state: api.Complete, created: true,
		},
		"delete-not-ours": {
			templates: "a.yaml: '{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}}'", task: `{kind: Delete, spec: {resources: [a.yaml]}}`,
			state: api.FatalError, message: "ConfigMap taken exists and is not of instance delete-not-ours",
		},
		"toggle-not-ours": {
			templates: "a.yaml: '{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}}'",
			task:      `{kind: Toggle, spec: {parameter: OFF, resources: [a.yaml]}}`,
			state:     api.FatalError, message: "ConfigMap taken exists and is not of instance toggle-not-ours",
		},
		"not-ours": {
			templates: "a.yaml: '{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}}'", task: `{kind: Apply, spec: {resources: [a.yaml]}}`,
			state: api.FatalError, message: "ConfigMap taken exists and is not of instance not-ours",
		},
		"invalid": {
			templates: "a.yaml: '{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: Nothing}}'",
			task:      `{kind: Apply, spec: {resources: [a.yaml]}}`,
			state:     api.FatalError, message: "Service a: ", created: true,
		},
		"unknown-kind": {
			templates: "a.yaml: '{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}'",
			task:      `{kind: Apply, spec: {resources: [a.yaml]}}`,
			state:     api.FatalError, message: `Widget a: no matches for kind "Widget" in version "example.com/v1"`,
		},
		"removed-version": {
			templates: "a.yaml: '{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: a}}'",
			task:      `{kind: Apply, spec: {resources: [a.yaml]}}`,
			state:     api.FatalError, message: `no matches for kind "PodDisruptionBudget" in version "policy/v1beta1": policy/v1beta1 was removed in ` +
				`Kubernetes 1.25: use policy/v1, for example with "holdfast kudo package migrate"`,
		},
		"delete-unknown": {
			templates: "a.yaml: '{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}'",
			task:      `{kind: Delete, spec: {resources: [a.yaml]}}`, state: api.Complete, created: true,
		},
		"toggle-unknown": {
			templates: "a.yaml: '{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}'",
			task:      `{kind: Toggle, spec: {parameter: OFF, resources: [a.yaml]}}`, state: api.Complete, created: true,
		},
		"defined-later": {
			templates: `a.yaml: '{apiVersion: late.example.com/v1, kind: Gadget, metadata: {name: a}}', b.yaml: '` + gadgets + `'`,
			task:      `{kind: Apply, spec: {resources: [a.yaml, b.yaml]}}`, state: api.Complete, created: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c.operator(t, name, "0.1.0", `
parameters: [{name: WHO, default: me}, {name: OFF, default: "false"}, {name: LIST, type: array, required: true}, {name: TABLE, type: map, required: true}]
templates: {first.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-first'}}", `+
				strings.TrimSuffix(test.templates, "\n")+`}
tasks: [{name: first, kind: Apply, spec: {resources: [first.yaml]}}, {name: task, `+strings.TrimPrefix(test.task, "{")+`]
plans:
  deploy: {phases: [{name: main, steps: [{name: first, tasks: [first]}, {name: task, tasks: [task]}]}]}
  other: {phases: [{name: main, steps: [{name: first, tasks: [first]}]}]}
`)
			c.install(t, name, name+"-0.1.0", nil)
			waittest.Until(t, name+" is "+string(test.state), func() bool {
				return c.instance(t, name).Status.PlanStatus["deploy"].Status == test.state
			})
			c.awaitMessage(t, name, test.message)
			steps := c.instance(t, name).Status.PlanStatus["deploy"].Phases[0].Steps
			if failed := steps[1].Status == api.FatalError; failed != (test.state == api.FatalError) || steps[0].Status == api.FatalError {
				t.Errorf("the steps are %+v", steps)
			}
			if created := c.get(t, "configmaps", name+"-first") != nil; created != test.created {
				t.Errorf("the step before was executed: %t", created)
			}
		})
	}
	testStuckPlans(t, c)
	testEvents(t, c)
	if list := c.get(t, "configmaps", "null").Object["data"].(map[string]any)["list"]; list != "null 0 invalid null" {
		t.Errorf("an array and a map without a value are %v", list)
	}
	if c.get(t, "configmaps", "taken").Object["data"].(map[string]any)["whose"] != "mine" {
		t.Error("an object that does not belong to the Instance was changed")
	}
}

// testStuckPlans checks how an Instance becomes free whose plan does not end: a user cancels
// the plan that waits, and runs another plan instead of the one that is retried.
func testStuckPlans(t *testing.T, c cluster) {
	run := func(name string, execution func(uid types.UID) api.PlanExecution) error {
		return c.change(t, name, func(i *api.Instance) { i.Spec.PlanExecution = execution(i.Spec.PlanExecution.UID) })
	}
	other := func(types.UID) api.PlanExecution { return api.PlanExecution{PlanName: "other"} }
	if err := run("dummy-wait", other); !apierrors.IsConflict(err) {
		t.Errorf("another plan while one is running: %v", err)
	}
	for _, kept := range []api.PlanExecution{{}, {Status: api.FatalError}, {UID: "x", Status: api.FatalError}} {
		if err := run("dummy-wait", func(types.UID) api.PlanExecution { return kept }); err != nil {
			t.Fatal(err)
		}
		if running := c.instance(t, "dummy-wait").RunningPlan(); running != "deploy" {
			t.Errorf("plan %q is running after %+v", running, kept)
		}
	}
	cancel := func(uid types.UID) api.PlanExecution { return api.PlanExecution{UID: uid, Status: api.FatalError} }
	if err := run("dummy-wait", cancel); err != nil {
		t.Fatal(err)
	}
	ready := c.awaitEnd(t, "dummy-wait")
	status := c.instance(t, "dummy-wait").Status.PlanStatus["deploy"]
	if ready.Message != "plan deploy: the plan was cancelled" || status.Phases[0].Steps[1].Status != api.FatalError {
		t.Errorf("%s: %s: %+v", ready.Reason, ready.Message, status)
	}
	for _, name := range []string{"dummy-wait", "dummy-error"} {
		if err := run(name, other); err != nil {
			t.Fatal(err)
		}
		c.awaitComplete(t, name)
	}
}

// testEvents checks the Events of a run, and the warning about fields that were left out.
func testEvents(t *testing.T, c cluster) {
	const name = "unknown-field"
	want := []string{
		"Normal PlanStarted: Execution of plan deploy started",
		"Warning UnknownFields: ConfigMap unknown-field: v1 ConfigMap has no such fields, they are left out: metadata.color, spec",
		"Normal PlanFinished: Execution of plan deploy finished with status COMPLETE",
	}
	waittest.Until(t, "the events of "+name, func() bool {
		list, err := c.CoreV1().Events(c.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, event := range list.Items {
			found[event.Type+" "+event.Reason+": "+event.Message] = true
		}
		return !slices.ContainsFunc(want, func(text string) bool { return !found[text] })
	})
}

// gadgets defines a kind that only one test has.
const gadgets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.late.example.com},
	spec: {group: late.example.com, scope: Namespaced, names: {kind: Gadget, plural: gadgets},
	versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`

// deployment is an operator with a Deployment in its first step, and a second step.
const deployment = `
parameters: [{name: IMAGE, default: a}]
templates:
  web.yaml: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: '{{ .Name }}'}
    spec:
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: '{{ .Params.IMAGE }}'}]}}
  after.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-{{ .Params.IMAGE }}'}}"
tasks:
- {name: web, kind: Apply, spec: {resources: [web.yaml]}}
- {name: after, kind: Apply, spec: {resources: [after.yaml]}}
plans: {deploy: {phases: [{name: main, steps: [{name: web, tasks: [web]}, {name: after, tasks: [after]}]}]}}
`

// reportDeployment sets the status of the Deployment web, as its controller does.
func (c cluster) reportDeployment(t *testing.T, observed int64, replicas int32) {
	t.Helper()
	deployments := c.AppsV1().Deployments(c.Namespace)
	waittest.Until(t, "status of the deployment", func() error {
		web, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		web.Status.ObservedGeneration = observed
		web.Status.Replicas, web.Status.UpdatedReplicas = 1, replicas
		web.Status.ReadyReplicas, web.Status.AvailableReplicas = replicas, replicas
		_, err = deployments.UpdateStatus(t.Context(), web, metav1.UpdateOptions{})
		return err
	})
}

// TestWaitsForDeployment checks that a plan does not wait for a Deployment without a
// status, and waits for one with a status set by a controller.
func TestWaitsForDeployment(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "web", "0.1.0", deployment)
	c.install(t, "web", "web-0.1.0", nil)
	c.awaitComplete(t, "web")
	c.reportDeployment(t, 1, 1)
	if err := c.change(t, "web", func(i *api.Instance) { i.Spec.Parameters = map[string]string{"IMAGE": "b"} }); err != nil {
		t.Fatal(err)
	}
	c.awaitMessage(t, "web", "main.web: task web: Deployment web: the last change is not taken up yet")
	c.reportDeployment(t, 2, 0)
	c.awaitMessage(t, "web", "0 of 1 are updated")
	if c.get(t, "configmaps", "web-b") != nil {
		t.Error("the next step did not wait")
	}
	c.reportDeployment(t, 2, 1)
	c.awaitComplete(t, "web")
	if c.get(t, "configmaps", "web-b") == nil || c.get(t, "configmaps", "web-a") != nil {
		t.Error("the ConfigMaps are not those of the new value")
	}
}

// TestWaitsBesideControllerManager checks that a plan waits for the first status of a Deployment if
// the server leaves its controllers to a kube-controller-manager.
func TestWaitsBesideControllerManager(t *testing.T) {
	t.Parallel()
	c, _ := startAt(t, apiserver.Config{Controllers: lifecycle.Selection{lifecycle.Signing}})
	c.operator(t, "web", "0.1.0", deployment)
	c.install(t, "web", "web-0.1.0", nil)
	c.awaitMessage(t, "web", "main.web: task web: Deployment web: the last change is not taken up yet")
	if c.get(t, "configmaps", "web-a") != nil {
		t.Error("the next step did not wait")
	}
	c.reportDeployment(t, 1, 1)
	c.awaitComplete(t, "web")
}

// TestDependency checks that a task installs the Instance of another operator, and that
// this Instance is deleted together with its owner.
func TestDependency(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "child", "0.1.0", `
parameters: [{name: SIZE, default: "1", immutable: true}]
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}, data: {size: '{{ .Params.SIZE }}'}}"}
tasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}}
`)
	c.operator(t, "parent", "0.1.0", `
parameters: [{name: SIZE, default: "7"}]
templates: {child.yaml: "SIZE: {{ .Params.SIZE }}"}
tasks: [{name: child, kind: KudoOperator, spec: {package: child, instanceName: '{{ .Name }}-child', parameterFile: child.yaml}}]
plans: {deploy: {phases: [{name: main, steps: [{name: child, tasks: [child]}]}]}}
`)
	c.install(t, "top", "parent-0.1.0", nil)
	c.awaitComplete(t, "top")
	if size := c.get(t, "configmaps", "top-child").Object["data"].(map[string]any)["size"]; size != "7" {
		t.Errorf("size %v", size)
	}
	// An immutable parameter of the dependency cannot be changed through its owner.
	if err := c.change(t, "top", func(i *api.Instance) { i.Spec.Parameters = map[string]string{"SIZE": "8"} }); err != nil {
		t.Fatal(err)
	}
	if ready := c.awaitEnd(t, "top"); ready.Reason != string(api.FatalError) ||
		!strings.Contains(ready.Message, "parameter 'SIZE' is immutable but was changed from '7' to '8'") {
		t.Errorf("%s: %s", ready.Reason, ready.Message)
	}
	if err := c.kudo("instances").Delete(t.Context(), "top", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the dependency deleted", func() bool { return c.get(t, "configmaps", "top-child") == nil })
}

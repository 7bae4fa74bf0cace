package controller_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/controller"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// readiness is an object without its kind, and the Readiness that it is expected to have.
type readiness struct{ object, want string }

// TestReadiness checks when objects of each kind are ready, on a server with workload
// controllers.
func TestReadiness(t *testing.T) {
	const stale = "waiting: the last change is not taken up yet"
	kinds := map[string][]readiness{
		"apiVersion: apps/v1, kind: Deployment": {
			{`metadata: {generation: 1}`, stale},
			{`metadata: {generation: 2}, status: {observedGeneration: 1, updatedReplicas: 1, availableReplicas: 1}`, stale},
			{`metadata: {generation: 1}, status: {observedGeneration: 1}`, "waiting: 0 of 1 are updated"},
			{`spec: {replicas: 3}, status: {updatedReplicas: 3, availableReplicas: 2}`, "waiting: 2 of 3 are available"},
			{`spec: {replicas: 3}, status: {replicas: 4, updatedReplicas: 3, availableReplicas: 3}`, ""},
			{`spec: {replicas: 0}`, ""},
			{
				`status: {conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: no image}]}`,
				"error: it does not get on: no image",
			},
			{`spec: {replicas: 0}, status: {conditions: [{type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}`, ""},
			{`metadata: {annotations: {holdfast.dev/wait: "false"}}, spec: {replicas: 3}`, ""},
			{`metadata: {annotations: {holdfast.dev/wait: "true"}}, spec: {replicas: 3}`, "waiting: 0 of 3 are updated"},
			{`spec: {replicas: three}`, `error: unrecognized type: int32`},
		},
		"apiVersion: apps/v1, kind: StatefulSet": {
			{`metadata: {generation: 2}, status: {observedGeneration: 1}`, stale},
			{`spec: {replicas: 3}, status: {readyReplicas: 2, updatedReplicas: 3}`, "waiting: 2 of 3 are ready"},
			{`spec: {replicas: 3}, status: {readyReplicas: 3, updatedReplicas: 1}`, "waiting: 1 of 3 are updated"},
			{`spec: {replicas: 3}, status: {readyReplicas: 3, updatedReplicas: 3}`, ""},
			{`spec: {replicas: 3, updateStrategy: {type: OnDelete}}, status: {readyReplicas: 3}`, ""},
			{
				`spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}}, status: {readyReplicas: 3}`,
				"waiting: 0 of 1 are updated",
			},
			{
				`spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}}, status: {readyReplicas: 3, ` +
					`updatedReplicas: 1}`,
				"",
			},
			{`spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 9}}}, status: {readyReplicas: 3}`, ""},
		},
		"apiVersion: apps/v1, kind: DaemonSet": {
			{`metadata: {generation: 1}`, stale},
			{`status: {desiredNumberScheduled: 2, numberReady: 1, updatedNumberScheduled: 2}`, "waiting: 1 of 2 are ready"},
			{`status: {desiredNumberScheduled: 2, numberReady: 2, updatedNumberScheduled: 1}`, "waiting: 1 of 2 are updated"},
			{`status: {desiredNumberScheduled: 2, numberReady: 2, updatedNumberScheduled: 2}`, ""},
			{`spec: {updateStrategy: {type: OnDelete}}, status: {desiredNumberScheduled: 2, numberReady: 2}`, ""},
			{`metadata: {generation: 1}, status: {observedGeneration: 1}`, ""},
		},
		"apiVersion: apps/v1, kind: ReplicaSet": {
			{`metadata: {generation: 1}`, stale},
			{`status: {readyReplicas: 0}`, "waiting: 0 of 1 are ready"},
			{`spec: {replicas: 2}, status: {readyReplicas: 2}`, ""},
		},
		"apiVersion: batch/v1, kind: Job": {
			{`status: {active: 1}`, "waiting: it is not complete"},
			{`status: {conditions: [{type: Complete, status: "False"}]}`, "waiting: it is not complete"},
			{`status: {conditions: [{type: Suspended, status: "True"}]}`, "waiting: it is not complete"},
			{`status: {conditions: [{type: Complete, status: "True"}]}`, ""},
			{`status: {conditions: [{type: Failed, status: "True", message: too many retries}]}`, "fatal: it has failed: too many retries"},
		},
		"apiVersion: v1, kind: Pod": {
			{`status: {phase: Pending}`, "waiting: it is not ready"},
			{`status: {phase: Running, conditions: [{type: Ready, status: "False"}]}`, "waiting: it is not ready"},
			{`status: {phase: Running, conditions: [{type: Ready, status: "True"}]}`, ""},
			{`status: {phase: Succeeded}`, ""},
			{`status: {phase: Failed, message: evicted}`, "fatal: it has failed: evicted"},
		},
		"apiVersion: v1, kind: PersistentVolumeClaim": {
			{`status: {phase: Pending}`, ""},
			{`status: {phase: Bound}`, ""},
			{`status: {phase: Lost}`, "error: its volume is lost"},
		},
		"apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition": {
			{`spec: {}`, "waiting: it is not established"},
			{
				`status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "False"}]}`,
				"waiting: it is not established",
			},
			{`status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}`, ""},
		},
		"apiVersion: kudo.dev/v1beta1, kind: Instance": {
			{`spec: {}`, "waiting: no plan of it has run"},
			{`spec: {planExecution: {planName: deploy, uid: a}}`, "waiting: its plan deploy runs"},
			{
				`spec: {planExecution: {planName: deploy, uid: a}}, status: {planStatus: {deploy: {uid: a, status: ERROR, message: no luck}}}`,
				"waiting: its plan deploy has an error: no luck",
			},
			{
				`spec: {planExecution: {planName: update, uid: b}}, status: {conditions: [{type: Ready, status: "True", reason: COMPLETE}]}`,
				"waiting: its plan update runs",
			},
			{
				`status: {conditions: [{type: Other, reason: FATAL_ERROR}, {type: Ready, status: "False", reason: FATAL_ERROR, message: "plan ` +
					`deploy: no"}]}`,
				"fatal: plan deploy: no",
			},
			{`status: {conditions: [{type: Ready, status: "True", reason: COMPLETE}]}`, ""},
		},
		// Kinds without readiness.
		"apiVersion: v1, kind: Service":   {{`spec: {type: LoadBalancer}`, ""}, {`status: {loadBalancer: {}}`, ""}},
		"apiVersion: v1, kind: ConfigMap": {{`data: {a: b}`, ""}},
		// A kind with a known name in another group.
		"apiVersion: example.com/v1, kind: Deployment": {{`status: {conditions: [{type: Ready, status: "False"}]}`, ""}},
	}
	for kind, objects := range kinds {
		for _, test := range objects {
			t.Run(kind+" "+test.object, func(t *testing.T) {
				if got := controller.Readiness(controller.Config{}, yamltest.Object(t, "{"+kind+", "+test.object+"}")); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		}
	}
}

// TestReadinessUnattended checks that, on a server without workload controllers, a plan does
// not wait for objects without a status set by a controller, unless the package requires it.
func TestReadinessUnattended(t *testing.T) {
	tests := map[string]struct{ object, want string }{
		"no status": {object: `apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}`},
		"defaults in the status": {
			object: `apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 3}, status: {replicas: 0, availableReplicas: 0}`,
		},
		"a pending pod":          {object: `apiVersion: v1, kind: Pod, status: {phase: Pending, qosClass: BestEffort}`},
		"a job without progress": {object: `apiVersion: batch/v1, kind: Job, status: {conditions: [], uncountedTerminatedPods: {}}`},
		"the package requires it": {
			object: `apiVersion: batch/v1, kind: Job, metadata: {annotations: {holdfast.dev/wait: "true"}}`,
			want:   "waiting: it is not complete",
		},
		"a controller has set the status": {
			object: `apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, status: {observedGeneration: 1}`,
			want:   "waiting: the last change is not taken up yet",
		},
		"a job is under way": {
			object: `apiVersion: batch/v1, kind: Job, status: {startTime: "2026-01-01T00:00:00Z"}`,
			want:   "waiting: it is not complete",
		},
		"a pod runs": {object: `apiVersion: v1, kind: Pod, status: {phase: Running}`, want: "waiting: it is not ready"},
		"a pod has conditions": {
			object: `apiVersion: v1, kind: Pod, status: {phase: Pending, conditions: [{type: PodScheduled, status: "True"}]}`,
			want:   "waiting: it is not ready",
		},
		"definitions are always waited for": {
			object: `apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition`,
			want:   "waiting: it is not established",
		},
		"instances are always waited for": {object: `apiVersion: kudo.dev/v1beta1, kind: Instance`, want: "waiting: no plan of it has run"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := controller.Readiness(controller.Config{Unattended: true}, yamltest.Object(t, "{"+test.object+"}")); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestReadyEndToEnd checks that a plan continues when its objects become ready: a definition
// that the server establishes, and a Job that gets its status from the test. A failed Job
// ends the plan.
func TestReadyEndToEnd(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "chain", "0.1.0", `
templates:
  kind.yaml: |
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: links.example.com}
    spec:
      group: example.com
      scope: Namespaced
      names: {plural: links, singular: link, kind: Link}
      versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
  link.yaml: "{apiVersion: example.com/v1, kind: Link, metadata: {name: '{{ .Name }}'}}"
  job.yaml: |
    apiVersion: batch/v1
    kind: Job
    metadata: {name: '{{ .Name }}', annotations: {holdfast.dev/wait: "true"}}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
  after.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-after'}}"
tasks:
- {name: kind, kind: Apply, spec: {resources: [kind.yaml]}}
- {name: link, kind: Apply, spec: {resources: [link.yaml]}}
- {name: job, kind: Apply, spec: {resources: [job.yaml]}}
- {name: after, kind: Apply, spec: {resources: [after.yaml]}}
plans:
  deploy:
    phases:
    - name: main
      steps:
      - {name: kind, tasks: [kind]}
      - {name: link, tasks: [link]}
      - {name: job, tasks: [job]}
      - {name: after, tasks: [after]}
`)
	report := func(name, status string) {
		t.Helper()
		waittest.Until(t, "status of the job", func() bool {
			job := c.get(t, "batch/jobs", name)
			if job == nil {
				return false
			}
			job.Object["status"] = yamltest.Object(t, `{startTime: "2026-01-01T00:00:00Z", `+status+`}`).Object
			_, err := c.resource("batch/jobs").UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
			return err == nil
		})
	}
	c.install(t, "good", "chain-0.1.0", nil)
	c.awaitMessage(t, "good", "main.job: task job: Job good: it is not complete")
	if c.get(t, "configmaps", "good-after") != nil {
		t.Error("the last step did not wait")
	}
	report("good", `completionTime: "2026-01-01T00:00:01Z", conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]`)
	c.awaitComplete(t, "good")
	if c.get(t, "configmaps", "good-after") == nil {
		t.Error("the last step was not executed")
	}

	c.operator(t, "short", "0.1.0", `
templates:
  job.yaml: |
    apiVersion: batch/v1
    kind: Job
    metadata: {name: '{{ .Name }}', annotations: {holdfast.dev/wait: "true"}}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
tasks: [{name: job, kind: Apply, spec: {resources: [job.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: job, tasks: [job]}]}]}}
`)
	c.install(t, "bad", "short-0.1.0", nil)
	report("bad", `conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True", message: out of luck}]`)
	const want = "plan deploy: main.job: task job: Job bad: it has failed: out of luck"
	if ready := c.awaitEnd(t, "bad"); ready.Reason != string(api.FatalError) || ready.Message != want {
		t.Errorf("%s: %s", ready.Reason, ready.Message)
	}
}

package columns_test

import (
	"fmt"
	"testing"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/columns"
	"holdfast.dev/holdfast/internal/yamltest"
)

func TestPod(t *testing.T) {
	rows{
		"running": {
			object: `
apiVersion: v1
kind: Pod
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  nodeName: node-1
  readinessGates: [{conditionType: lb}, {conditionType: dns}, {conditionType: unheard}]
  containers: [{name: a}, {name: b}]
status:
  phase: Running
  podIP: 10.0.0.1
  podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}]
  nominatedNodeName: node-2
  conditions: [{type: lb, status: "True"}, {type: dns, status: "False"}]
  containerStatuses:
  - name: a
    image: ""
    imageID: ""
    ready: true
    restartCount: 1
    state: {running: {}}
    lastState: {terminated: {exitCode: 1, finishedAt: "2026-01-02T00:05:00Z"}}
  - name: b
    image: ""
    imageID: ""
    ready: false
    restartCount: 2
    state: {running: {}}
    lastState: {terminated: {exitCode: 1, finishedAt: "2026-01-02T00:08:00Z"}}
`,
			want: `
Name: a
Ready: 1/2
Status: Running
Restarts: 3 (2m ago)
Age: 10m
IP*: 10.0.0.1
Node*: node-1
Nominated Node*: node-2
Readiness Gates*: 1/3`,
		},
		"new": {
			object: `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a}]}, status: {phase: Pending}}`,
			want: `
Name: a
Ready: 0/1
Status: Pending
Restarts: 0
Age: <unknown>
IP*: <none>
Node*: <none>
Nominated Node*: <none>
Readiness Gates*: <none>`,
		},
	}.run(t)
}

// TestPodStatus checks the columns Ready, Status and Restarts. Containers have the names c0 and c1, init containers i0 and i1;
// "side" is a sidecar.
func TestPodStatus(t *testing.T) {
	const (
		init2   = `spec: {initContainers: [{name: i0}, {name: i1}], containers: [{name: c0}]}`
		sidecar = `spec: {initContainers: [{name: side, restartPolicy: Always}, {name: i1}], containers: [{name: c0}]}`
		two     = `spec: {containers: [{name: c0}, {name: c1}]}`
	)
	cases := map[string]struct{ metadata, spec, status, want string }{
		"with a reason in its status": {
			spec:   two,
			status: `{phase: Failed, reason: Evicted}`,
			want:   "0/2 Evicted 0",
		},
		"with a scheduling gate": {
			spec:   two,
			status: `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}`,
			want:   "0/2 SchedulingGated 0",
		},
		"containers being created": {
			spec:   two,
			status: `{phase: Pending, containerStatuses: [` + inState("c0", `waiting: {reason: ContainerCreating}`) + `]}`,
			want:   "0/2 ContainerCreating 0",
		},
		"two containers waiting": {
			spec: two,
			status: `{phase: Running, containerStatuses: [` +
				inState("c0", `waiting: {reason: CrashLoopBackOff}`) + `, ` + inState("c1", `waiting: {reason: ImagePullBackOff}`) + `]}`,
			want: "0/2 CrashLoopBackOff 0",
		},
		"waiting without reason": {
			spec:   two,
			status: `{phase: Running, containerStatuses: [` + inState("c0", `waiting: {}`) + `]}`,
			want:   "0/2 Running 0",
		},
		"container failed": {
			spec: two,
			status: `{phase: Failed, containerStatuses: [` +
				inState("c0", `terminated: {exitCode: 1, reason: Error}`) + `]}`,
			want: "0/2 Error 0",
		},
		"container ended without reason": {
			spec:   two,
			status: `{phase: Failed, containerStatuses: [` + inState("c0", `terminated: {exitCode: 3}`) + `]}`,
			want:   "0/2 ExitCode:3 0",
		},
		"container killed": {
			spec: two,
			status: `{phase: Failed, containerStatuses: [` +
				inState("c0", `terminated: {exitCode: 137, signal: 9}`) + `]}`,
			want: "0/2 Signal:9 0",
		},
		"completed": {
			spec: two,
			status: `{phase: Succeeded, containerStatuses: [` +
				inState("c0", `terminated: {exitCode: 0, reason: Completed}`) + `]}`,
			want: "0/2 Completed 0",
		},
		"one container completed, pod ready": {
			spec: two,
			status: `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [` +
				inState("c0", `terminated: {exitCode: 0, reason: Completed}`) + `, ` + ready("c1") + `]}`,
			want: "1/2 Running 0",
		},
		"one container completed, pod not ready": {
			spec: two,
			status: `{phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [` +
				inState("c0", `terminated: {exitCode: 0, reason: Completed}`) + `, ` + ready("c1") + `]}`,
			want: "1/2 NotReady 0",
		},
		"being deleted": {
			metadata: `deletionTimestamp: "2026-01-02T00:00:00Z"`,
			spec:     two,
			status:   `{phase: Running, containerStatuses: [` + ready("c0") + `]}`,
			want:     "1/2 Terminating 0",
		},
		"being deleted after success": {
			metadata: `deletionTimestamp: "2026-01-02T00:00:00Z"`,
			spec:     two,
			status:   `{phase: Succeeded}`,
			want:     "0/2 Succeeded 0",
		},
		"being deleted after failure": {
			metadata: `deletionTimestamp: "2026-01-02T00:00:00Z"`,
			spec:     two,
			status:   `{phase: Failed}`,
			want:     "0/2 Failed 0",
		},
		"being deleted on a lost node": {
			metadata: `deletionTimestamp: "2026-01-02T00:00:00Z"`,
			spec:     two,
			status:   `{phase: Running, reason: NodeLost}`,
			want:     "0/2 Unknown 0",
		},
		"with restarts at an unknown time": {
			spec: two,
			status: `{phase: Running, containerStatuses: [{name: c0, ready: false, restartCount: 2, image: "", ` +
				`imageID: ""}]}`,
			want: "0/2 Running 2",
		},
		"first init container waiting": {
			spec: init2,
			status: `{phase: Pending, initContainerStatuses: [` +
				inState("i0", `waiting: {reason: PodInitializing}`) + `, ` + inState("i1", `waiting: {reason: PodInitializing}`) + `]}`,
			want: "0/1 Init:0/2 0",
		},
		"second init container running": {
			spec: init2,
			status: `{phase: Pending, initContainerStatuses: [` +
				inState("i0", `terminated: {exitCode: 0, reason: Completed}`) + `, ` + inState("i1", `running: {}`) +
				`], containerStatuses: [` + inState("c0", `waiting: {reason: PodInitializing}`) + `]}`,
			want: "0/1 Init:1/2 0",
		},
		"init container without image": {
			spec: init2,
			status: `{phase: Pending, initContainerStatuses: [` +
				inState("i0", `waiting: {reason: ErrImagePull}`) + `]}`,
			want: "0/1 Init:ErrImagePull 0",
		},
		"init container failed": {
			spec: init2,
			status: `{phase: Failed, initContainerStatuses: [` +
				inState("i0", `terminated: {exitCode: 1, reason: Error}`) + `]}`,
			want: "0/1 Init:Error 0",
		},
		"init container ended without reason": {
			spec: init2,
			status: `{phase: Failed, initContainerStatuses: [` + inState("i0", `terminated: {exitCode: 7}`) +
				`]}`,
			want: "0/1 Init:ExitCode:7 0",
		},
		"init container killed": {
			spec: init2,
			status: `{phase: Failed, initContainerStatuses: [` +
				inState("i0", `terminated: {exitCode: 137, signal: 9}`) + `]}`,
			want: "0/1 Init:Signal:9 0",
		},
		"init container restarting": {
			spec:   init2,
			status: `{phase: Pending, initContainerStatuses: [` + restarted("i0", 3, `waiting: {reason: CrashLoopBackOff}`) + `]}`,
			want:   "0/1 Init:CrashLoopBackOff 3 (5m ago)",
		},
		"restarts of finished init containers are not counted": {
			spec: init2,
			status: `{phase: Running, initContainerStatuses: [` +
				restarted("i0", 3, `terminated: {exitCode: 0}`) + `, ` + inState("i1", `terminated: {exitCode: 0}`) +
				`], containerStatuses: [` + ready("c0") + `]}`,
			want: "1/1 Running 0",
		},
		"init container restarted after initialization": {
			spec: init2,
			status: `{phase: Running, conditions: [{type: Initialized, status: "True"}], initContainerStatuses: [` +
				restarted("i0", 3, `running: {}`) + `], containerStatuses: [` + restarted("c0", 1, `waiting: {reason: CrashLoopBackOff}`) + `]}`,
			want: "0/1 CrashLoopBackOff 1 (5m ago)",
		},
		"with a sidecar, init container running": {
			spec: sidecar,
			status: `{phase: Pending, initContainerStatuses: [{name: side, started: true, ready: true, restartCount: 0, ` +
				`image: "", imageID: "", state: {running: {}}}, ` + inState("i1", `running: {}`) + `]}`,
			want: "1/2 Init:1/2 0",
		},
		"with a sidecar that has not started": {
			spec: sidecar,
			status: `{phase: Pending, initContainerStatuses: [{name: side, started: false, ready: false, restartCount: 0, ` +
				`image: "", imageID: "", state: {running: {}}}]}`,
			want: "0/2 Init:0/2 0",
		},
		"with a sidecar that restarted": {
			spec: sidecar,
			status: `{phase: Running, initContainerStatuses: [{name: side, started: true, ready: false, restartCount: 2, ` +
				`image: "", imageID: "", state: {running: {}}, lastState: {terminated: {exitCode: 1, ` +
				`finishedAt: "2026-01-02T00:05:00Z"}}}, ` + restarted("i1", 4, `terminated: {exitCode: 0}`) +
				`], containerStatuses: [` + ready("c0") + `]}`,
			want: "1/2 Running 2 (5m ago)",
		},
	}
	scheme := native.NewPublishedScheme()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := yamltest.Kind(
				t, scheme,
				fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: a, %s}\n%s\nstatus: %s\n", c.metadata, c.spec, c.status),
			)
			table, _ := columns.For(obj)
			cells := table.Cells(obj, now)
			if got := fmt.Sprint(cells[1], " ", cells[2], " ", cells[3]); got != c.want {
				t.Errorf("READY STATUS RESTARTS: %s, want %s", got, c.want)
			}
		})
	}
}

// inState returns the status of a container that is not ready, in this state.
func inState(name, state string) string {
	return fmt.Sprintf(`{name: %s, ready: false, restartCount: 0, image: "", imageID: "", state: {%s}}`, name, state)
}

// ready returns the status of a container that is running and ready.
func ready(name string) string {
	return fmt.Sprintf(`{name: %s, ready: true, restartCount: 0, image: "", imageID: "", state: {running: {}}}`, name)
}

// restarted returns the status of a container that was restarted, the last time at 00:05.
func restarted(name string, count int, state string) string {
	return fmt.Sprintf(`{name: %s, ready: false, restartCount: %d, image: "", imageID: "", state: {%s}, `+
		`lastState: {terminated: {exitCode: 1, finishedAt: "2026-01-02T00:05:00Z"}}}`, name, count, state)
}

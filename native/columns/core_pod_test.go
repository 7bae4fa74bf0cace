package columns_test

import (
	"fmt"
	"testing"

	"holdfast.dev/holdfast/native/columns"
)

func TestPod(t *testing.T) {
	shown{
		"that runs": {
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
  - {name: a, ready: true, restartCount: 1, state: {running: {}}, lastState: {terminated: {exitCode: 1, finishedAt: "2026-01-02T00:05:00Z"}}, image: "", imageID: ""}
  - {name: b, ready: false, restartCount: 2, state: {running: {}}, lastState: {terminated: {exitCode: 1, finishedAt: "2026-01-02T00:08:00Z"}}, image: "", imageID: ""}
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
		"that is new": {
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

// TestPodStatus is about READY, STATUS and RESTARTS only. Containers are c0, c1, ... and init containers i0, i1, ...;
// side is an init container that keeps running.
func TestPodStatus(t *testing.T) {
	const (
		init2   = `spec: {initContainers: [{name: i0}, {name: i1}], containers: [{name: c0}]}`
		sidecar = `spec: {initContainers: [{name: side, restartPolicy: Always}, {name: i1}], containers: [{name: c0}]}`
		two     = `spec: {containers: [{name: c0}, {name: c1}]}`
	)
	cases := map[string]struct{ metadata, spec, status, want string }{
		"with a reason of its own": {
			spec: two, status: `{phase: Failed, reason: Evicted}`, want: "0/2 Evicted 0",
		},
		"with a gate before scheduling": {
			spec: two, status: `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}`,
			want: "0/2 SchedulingGated 0",
		},
		"whose containers are pulled": {
			spec: two, status: `{phase: Pending, containerStatuses: [` + c("c0", `waiting: {reason: ContainerCreating}`) + `]}`,
			want: "0/2 ContainerCreating 0",
		},
		"where the first container has the last word": {
			spec: two, status: `{phase: Running, containerStatuses: [` + c("c0", `waiting: {reason: CrashLoopBackOff}`) + `, ` + c("c1", `waiting: {reason: ImagePullBackOff}`) + `]}`,
			want: "0/2 CrashLoopBackOff 0",
		},
		"where waiting has no reason": {
			spec: two, status: `{phase: Running, containerStatuses: [` + c("c0", `waiting: {}`) + `]}`, want: "0/2 Running 0",
		},
		"where a container failed": {
			spec: two, status: `{phase: Failed, containerStatuses: [` + c("c0", `terminated: {exitCode: 1, reason: Error}`) + `]}`, want: "0/2 Error 0",
		},
		"where a container ended by itself": {
			spec: two, status: `{phase: Failed, containerStatuses: [` + c("c0", `terminated: {exitCode: 3}`) + `]}`, want: "0/2 ExitCode:3 0",
		},
		"where a container was killed": {
			spec: two, status: `{phase: Failed, containerStatuses: [` + c("c0", `terminated: {exitCode: 137, signal: 9}`) + `]}`, want: "0/2 Signal:9 0",
		},
		"that is done": {
			spec: two, status: `{phase: Succeeded, containerStatuses: [` + c("c0", `terminated: {exitCode: 0, reason: Completed}`) + `]}`, want: "0/2 Completed 0",
		},
		"half done and ready": {
			spec:   two,
			status: `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [` + c("c0", `terminated: {exitCode: 0, reason: Completed}`) + `, ` + ready("c1") + `]}`,
			want:   "1/2 Running 0",
		},
		"half done and not ready": {
			spec:   two,
			status: `{phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [` + c("c0", `terminated: {exitCode: 0, reason: Completed}`) + `, ` + ready("c1") + `]}`,
			want:   "1/2 NotReady 0",
		},
		"going away": {
			metadata: `deletionTimestamp: "2026-01-02T00:00:00Z"`, spec: two,
			status: `{phase: Running, containerStatuses: [` + ready("c0") + `]}`, want: "1/2 Terminating 0",
		},
		"going away once done": {
			metadata: `deletionTimestamp: "2026-01-02T00:00:00Z"`, spec: two,
			status: `{phase: Succeeded}`, want: "0/2 Succeeded 0",
		},
		"going away once failed": {
			metadata: `deletionTimestamp: "2026-01-02T00:00:00Z"`, spec: two,
			status: `{phase: Failed}`, want: "0/2 Failed 0",
		},
		"going away with its node": {
			metadata: `deletionTimestamp: "2026-01-02T00:00:00Z"`, spec: two,
			status: `{phase: Running, reason: NodeLost}`, want: "0/2 Unknown 0",
		},
		"with restarts at no known time": {
			spec: two, status: `{phase: Running, containerStatuses: [{name: c0, ready: false, restartCount: 2, image: "", imageID: ""}]}`, want: "0/2 Running 2",
		},
		"whose first init container waits": {
			spec: init2, status: `{phase: Pending, initContainerStatuses: [` + c("i0", `waiting: {reason: PodInitializing}`) + `, ` + c("i1", `waiting: {reason: PodInitializing}`) + `]}`,
			want: "0/1 Init:0/2 0",
		},
		"whose second init container runs": {
			spec: init2, status: `{phase: Pending, initContainerStatuses: [` + c("i0", `terminated: {exitCode: 0, reason: Completed}`) + `, ` + c("i1", `running: {}`) + `], containerStatuses: [` + c("c0", `waiting: {reason: PodInitializing}`) + `]}`,
			want: "0/1 Init:1/2 0",
		},
		"whose init container has no image": {
			spec: init2, status: `{phase: Pending, initContainerStatuses: [` + c("i0", `waiting: {reason: ErrImagePull}`) + `]}`, want: "0/1 Init:ErrImagePull 0",
		},
		"whose init container failed": {
			spec: init2, status: `{phase: Failed, initContainerStatuses: [` + c("i0", `terminated: {exitCode: 1, reason: Error}`) + `]}`, want: "0/1 Init:Error 0",
		},
		"whose init container ended by itself": {
			spec: init2, status: `{phase: Failed, initContainerStatuses: [` + c("i0", `terminated: {exitCode: 7}`) + `]}`, want: "0/1 Init:ExitCode:7 0",
		},
		"whose init container was killed": {
			spec: init2, status: `{phase: Failed, initContainerStatuses: [` + c("i0", `terminated: {exitCode: 137, signal: 9}`) + `]}`, want: "0/1 Init:Signal:9 0",
		},
		"whose init container restarts": {
			spec: init2, status: `{phase: Pending, initContainerStatuses: [` + restarted("i0", 3, `waiting: {reason: CrashLoopBackOff}`) + `]}`,
			want: "0/1 Init:CrashLoopBackOff 3 (5m ago)",
		},
		"whose init containers are done and forgotten": {
			spec: init2, status: `{phase: Running, initContainerStatuses: [` + restarted("i0", 3, `terminated: {exitCode: 0}`) + `, ` + c("i1", `terminated: {exitCode: 0}`) + `], containerStatuses: [` + ready("c0") + `]}`,
			want: "1/1 Running 0",
		},
		"initialized though an init container starts again": {
			spec:   init2,
			status: `{phase: Running, conditions: [{type: Initialized, status: "True"}], initContainerStatuses: [` + restarted("i0", 3, `running: {}`) + `], containerStatuses: [` + restarted("c0", 1, `waiting: {reason: CrashLoopBackOff}`) + `]}`,
			want:   "0/1 CrashLoopBackOff 1 (5m ago)",
		},
		"with a sidecar up while it initializes": {
			spec:   sidecar,
			status: `{phase: Pending, initContainerStatuses: [{name: side, started: true, ready: true, restartCount: 0, image: "", imageID: "", state: {running: {}}}, ` + c("i1", `running: {}`) + `]}`,
			want:   "1/2 Init:1/2 0",
		},
		"with a sidecar that has not started": {
			spec:   sidecar,
			status: `{phase: Pending, initContainerStatuses: [{name: side, started: false, ready: false, restartCount: 0, image: "", imageID: "", state: {running: {}}}]}`,
			want:   "0/2 Init:0/2 0",
		},
		"with a sidecar that restarted": {
			spec:   sidecar,
			status: `{phase: Running, initContainerStatuses: [{name: side, started: true, ready: false, restartCount: 2, image: "", imageID: "", state: {running: {}}, lastState: {terminated: {exitCode: 1, finishedAt: "2026-01-02T00:05:00Z"}}}, ` + restarted("i1", 4, `terminated: {exitCode: 0}`) + `], containerStatuses: [` + ready("c0") + `]}`,
			want:   "1/2 Running 2 (5m ago)",
		},
	}
	scheme := newScheme(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := decode(t, scheme, fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: a, %s}\n%s\nstatus: %s\n", c.metadata, c.spec, c.status))
			table, _ := columns.For(obj)
			cells := table.Cells(obj, now)
			if got := fmt.Sprint(cells[1], " ", cells[2], " ", cells[3]); got != c.want {
				t.Errorf("READY STATUS RESTARTS: %s, want %s", got, c.want)
			}
		})
	}
}

// c, ready and restarted are the statuses of a container.
func c(name, state string) string {
	return fmt.Sprintf(`{name: %s, ready: false, restartCount: 0, image: "", imageID: "", state: {%s}}`, name, state)
}

func ready(name string) string {
	return fmt.Sprintf(`{name: %s, ready: true, restartCount: 0, image: "", imageID: "", state: {running: {}}}`, name)
}

func restarted(name string, count int, state string) string {
	return fmt.Sprintf(`{name: %s, ready: false, restartCount: %d, image: "", imageID: "", state: {%s}, lastState: {terminated: {exitCode: 1, finishedAt: "2026-01-02T00:05:00Z"}}}`, name, count, state)
}

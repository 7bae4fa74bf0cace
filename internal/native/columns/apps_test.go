package columns_test

import "testing"

func TestApps(t *testing.T) {
	rows{
		"Deployment": {
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}
  template: {spec: {containers: [{name: a, image: x:1}, {name: b, image: y:2}]}}
status: {readyReplicas: 2, updatedReplicas: 1, availableReplicas: 4}
`,
			want: `
Name: a
Ready: 2/3
Up-to-date: 1
Available: 4
Age: 10m
Containers*: a,b
Images*: x:1,y:2
Selector*: app=web,tier in (a,b)`,
		},
		"Deployment with an invalid selector": {
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {selector: {matchExpressions: [{key: tier, operator: Like}]}, template: {}}
`,
			want: `
Name: a
Ready: 0/0
Up-to-date: 0
Available: 0
Age: <unknown>
Containers*:
Images*:
Selector*: <invalid>`,
		},
		"StatefulSet": {
			object: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {replicas: 3, selector: null, serviceName: "", template: {spec: {containers: [{name: a, image: x:1}]}}}
status: {replicas: 3, readyReplicas: 2}
`,
			want: `
Name: a
Ready: 2/3
Age: 10m
Containers*: a
Images*: x:1`,
		},
		"ReplicaSet": {
			object: `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {spec: {containers: [{name: a, image: x:1}]}}}
status: {replicas: 2, readyReplicas: 1}
`,
			want: `
Name: a
Desired: 3
Current: 2
Ready: 1
Age: 10m
Containers*: a
Images*: x:1
Selector*: app=web`,
		},
		"DaemonSet": {
			object: `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {selector: {matchLabels: {app: web}}, template: {spec: {nodeSelector: {disk: ssd}, containers: [{name: a, image: x:1}]}}}
status:
  desiredNumberScheduled: 1
  currentNumberScheduled: 2
  numberReady: 3
  updatedNumberScheduled: 4
  numberAvailable: 5
  numberMisscheduled: 0
`,
			want: `
Name: a
Desired: 1
Current: 2
Ready: 3
Up-to-date: 4
Available: 5
Node Selector: disk=ssd
Age: 10m
Containers*: a
Images*: x:1
Selector*: app=web`,
		},
		"ControllerRevision": {
			object: `
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: a
  creationTimestamp: "2026-01-02T00:00:00Z"
  ownerReferences:
  - {apiVersion: v1, kind: Pod, name: other, uid: "1"}
  - {apiVersion: apps/v1, kind: StatefulSet, name: web, uid: "2", controller: true}
revision: 3
`,
			want: `
Name: a
Controller: statefulset.apps/web
Revision: 3
Age: 10m`,
		},
		"ControllerRevision without a controller": {
			object: `{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: a}, revision: 1}`,
			want: `
Name: a
Controller: <none>
Revision: 1
Age: <unknown>`,
		},
	}.run(t)
}

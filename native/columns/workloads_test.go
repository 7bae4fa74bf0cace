package columns_test

import "testing"

func TestApps(t *testing.T) {
	shown{
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
		"Deployment with a selector that is none": {
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
status: {desiredNumberScheduled: 1, currentNumberScheduled: 2, numberReady: 3, updatedNumberScheduled: 4, numberAvailable: 5, numberMisscheduled: 0}
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
  ownerReferences: [{apiVersion: v1, kind: Pod, name: other, uid: "1"}, {apiVersion: apps/v1, kind: StatefulSet, name: web, uid: "2", controller: true}]
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

func TestJob(t *testing.T) {
	const tail = `
Containers*:
Images*:
Selector*: <none>`
	shown{
		"that runs": {
			object: `
apiVersion: batch/v1
kind: Job
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {completions: 3, selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: a, image: x:1}]}}}
status: {succeeded: 1, startTime: "2026-01-02T00:05:00Z"}
`,
			want: `
Name: a
Status: Running
Completions: 1/3
Duration: 5m
Age: 10m
Containers*: a
Images*: x:1
Selector*: a=b`,
		},
		"complete": {
			object: `
apiVersion: batch/v1
kind: Job
metadata: {name: a, deletionTimestamp: "2026-01-02T00:00:00Z"}
spec: {parallelism: 3, template: {}}
status: {succeeded: 1, startTime: "2026-01-02T00:05:00Z", completionTime: "2026-01-02T00:05:30Z", conditions: [{type: Complete, status: "True"}]}
`,
			want: `
Name: a
Status: Complete
Completions: 1/1 of 3
Duration: 30s
Age: <unknown>` + tail,
		},
		"failed": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {}}, status: {conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]}}`,
			want: `
Name: a
Status: Failed
Completions: 0/1
Duration:
Age: <unknown>` + tail,
		},
		"going away": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, deletionTimestamp: "2026-01-02T00:00:00Z"}, spec: {template: {}}, status: {conditions: [{type: Suspended, status: "True"}]}}`,
			want: `
Name: a
Status: Terminating
Completions: 0/1
Duration:
Age: <unknown>` + tail,
		},
		"suspended": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {}}, status: {conditions: [{type: Suspended, status: "True"}, {type: Complete, status: "False"}]}}`,
			want: `
Name: a
Status: Suspended
Completions: 0/1
Duration:
Age: <unknown>` + tail,
		},
		"about to fail": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {}}, status: {conditions: [{type: FailureTarget, status: "True"}]}}`,
			want: `
Name: a
Status: FailureTarget
Completions: 0/1
Duration:
Age: <unknown>` + tail,
		},
		"CronJob": {
			object: `
apiVersion: batch/v1
kind: CronJob
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  schedule: "*/5 * * * *"
  timeZone: Etc/UTC
  suspend: true
  jobTemplate: {spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: a, image: x:1}]}}}}
status: {active: [{name: j}], lastScheduleTime: "2026-01-02T00:09:00Z"}
`,
			want: `
Name: a
Schedule: */5 * * * *
Timezone: Etc/UTC
Suspend: True
Active: 1
Last Schedule: 60s
Age: 10m
Containers*: a
Images*: x:1
Selector*: a=b`,
		},
		"CronJob that never ran": {
			object: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: "@daily", suspend: false, jobTemplate: {spec: {template: {}}}}}`,
			want: `
Name: a
Schedule: @daily
Timezone: <none>
Suspend: False
Active: 0
Last Schedule: <none>
Age: <unknown>` + tail,
		},
		"CronJob as no default has seen it": {
			object: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: "@daily", jobTemplate: {spec: {template: {}}}}}`,
			want: `
Name: a
Schedule: @daily
Timezone: <none>
Suspend: <unset>
Active: 0
Last Schedule: <none>
Age: <unknown>` + tail,
		},
	}.run(t)
}

func TestAutoscaling(t *testing.T) {
	shown{
		"HorizontalPodAutoscaler by resources": {
			object: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  scaleTargetRef: {kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 5
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
  - {type: ContainerResource, containerResource: {name: memory, container: a, target: {type: AverageValue, averageValue: 1Gi}}}
status:
  currentReplicas: 3
  desiredReplicas: 0
  currentMetrics:
  - {type: Resource, resource: {name: cpu, current: {averageUtilization: 50}}}
  - {type: ContainerResource, containerResource: {name: memory, container: a, current: {averageValue: 512Mi}}}
`,
			want: `
Name: a
Reference: Deployment/web
Targets: cpu: 50%/80%, memory: 512Mi/1Gi
MinPods: 2
MaxPods: 5
Replicas: 3
Age: 10m`,
		},
		"HorizontalPodAutoscaler that knows nothing yet": {
			object: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec:
  scaleTargetRef: {kind: Deployment, name: web}
  maxReplicas: 5
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization}}}
  - {type: Pods, pods: {metric: {name: x}, target: {type: AverageValue, averageValue: "10"}}}
  - {type: External}
  - {type: Object}
`,
			want: `
Name: a
Reference: Deployment/web
Targets: cpu: <unknown>/<auto>, <unknown>/10 + 2 more...
MinPods: <unset>
MaxPods: 5
Replicas: 0
Age: <unknown>`,
		},
		"HorizontalPodAutoscaler by outer values": {
			object: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec:
  scaleTargetRef: {kind: Deployment, name: web}
  maxReplicas: 5
  metrics:
  - {type: External, external: {metric: {name: x}, target: {type: AverageValue, averageValue: "10"}}}
  - {type: Object, object: {describedObject: {kind: A, name: a}, metric: {name: x}, target: {type: Value, value: "20"}}}
status:
  desiredReplicas: 0
  currentMetrics:
  - {type: External, external: {metric: {name: x}, current: {averageValue: "5"}}}
  - {type: Object, object: {describedObject: {kind: A, name: a}, metric: {name: x}, current: {value: "6"}}}
`,
			want: `
Name: a
Reference: Deployment/web
Targets: 5/10 (avg), 6/20
MinPods: <unset>
MaxPods: 5
Replicas: 0
Age: <unknown>`,
		},
		"HorizontalPodAutoscaler by a pod's values and by none": {
			object: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec:
  scaleTargetRef: {kind: Deployment, name: web}
  maxReplicas: 5
  metrics: [{type: Pods, pods: {metric: {name: x}, target: {type: AverageValue, averageValue: "10"}}}, {type: Pods}]
status: {desiredReplicas: 0, currentMetrics: [{type: Pods, pods: {metric: {name: x}, current: {averageValue: "7"}}}]}
`,
			want: `
Name: a
Reference: Deployment/web
Targets: 7/10, <unknown type>
MinPods: <unset>
MaxPods: 5
Replicas: 0
Age: <unknown>`,
		},
		"HorizontalPodAutoscaler without metrics": {
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {scaleTargetRef: {kind: A, name: b}, maxReplicas: 1}}`,
			want: `
Name: a
Reference: A/b
Targets: <none>
MinPods: <unset>
MaxPods: 1
Replicas: 0
Age: <unknown>`,
		},
		"PodDisruptionBudget": {
			object: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {minAvailable: 50%}
status: {disruptionsAllowed: 2, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0}
`,
			want: `
Name: a
Min Available: 50%
Max Unavailable: N/A
Allowed Disruptions: 2
Age: 10m`,
		},
		"PodDisruptionBudget the other way round": {
			object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {maxUnavailable: 1}}`,
			want: `
Name: a
Min Available: N/A
Max Unavailable: 1
Allowed Disruptions: 0
Age: <unknown>`,
		},
	}.run(t)
}

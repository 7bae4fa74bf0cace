package columns_test

import "testing"

func TestAutoscaling(t *testing.T) {
	rows{
		"Scale": {
			object: `
apiVersion: autoscaling/v1
kind: Scale
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {replicas: 3}
status: {replicas: 2}
`,
			want: `
Name: a
Desired: 3
Available: 2
Age: 10m`,
		},
		"HorizontalPodAutoscaler with resource metrics": {
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
		"HorizontalPodAutoscaler without current metrics": {
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
		"HorizontalPodAutoscaler with external and object metrics": {
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
		"HorizontalPodAutoscaler with pod metrics": {
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
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, ` +
				`spec: {scaleTargetRef: {kind: A, name: b}, maxReplicas: 1}}`,
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
		"PodDisruptionBudget with maxUnavailable": {
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

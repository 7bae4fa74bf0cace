package defaults_test

import "testing"

func TestBatch(t *testing.T) {
	inOut{
		"Job": {
			in: `{apiVersion: batch/v1, kind: Job, spec: {template: {metadata: {labels: {app: x}}, spec: {restartPolicy: Never}}}}`,
			want: `
apiVersion: batch/v1
kind: Job
metadata: {labels: {app: x}}
spec:
  completions: 1
  parallelism: 1
  backoffLimit: 6
  completionMode: NonIndexed
  suspend: false
  podReplacementPolicy: TerminatingOrFailed
  template:
    metadata: {labels: {app: x}}
    spec:
      restartPolicy: Never
      dnsPolicy: ClusterFirst
      schedulerName: default-scheduler
      terminationGracePeriodSeconds: 30
      securityContext: {}
`,
		},
		"Job that is a work queue": {
			in: `{apiVersion: batch/v1, kind: Job, metadata: {labels: {a: b}}, spec: {parallelism: 3, suspend: true, template: {metadata: {labels: {app: x}}}}}`,
			want: `
apiVersion: batch/v1
kind: Job
metadata: {labels: {a: b}}
spec:
  parallelism: 3
  backoffLimit: 6
  completionMode: NonIndexed
  suspend: true
  podReplacementPolicy: TerminatingOrFailed
  template:
    metadata: {labels: {app: x}}
    spec:
      restartPolicy: Always
      dnsPolicy: ClusterFirst
      schedulerName: default-scheduler
      terminationGracePeriodSeconds: 30
      securityContext: {}
`,
		},
		"Job of indexes": {
			in: `
apiVersion: batch/v1
kind: Job
spec:
  completions: 5
  completionMode: Indexed
  backoffLimitPerIndex: 1
  podFailurePolicy:
    rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}, {type: A, status: "False"}]}]
`,
			want: `
apiVersion: batch/v1
kind: Job
spec:
  completions: 5
  parallelism: 1
  completionMode: Indexed
  backoffLimit: 2147483647
  backoffLimitPerIndex: 1
  suspend: false
  podReplacementPolicy: Failed
  podFailurePolicy:
    rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}, {type: A, status: "False"}]}]
` + emptyTemplate,
		},
		"CronJob": {
			in: `
apiVersion: batch/v1
kind: CronJob
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec: {podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}}
`,
			want: `
apiVersion: batch/v1
kind: CronJob
spec:
  schedule: "* * * * *"
  concurrencyPolicy: Allow
  suspend: false
  successfulJobsHistoryLimit: 3
  failedJobsHistoryLimit: 1
  jobTemplate:
    spec:
      podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}]}
      template:
        spec:
          restartPolicy: Always
          dnsPolicy: ClusterFirst
          schedulerName: default-scheduler
          terminationGracePeriodSeconds: 30
          securityContext: {}
`,
		},
	}.run(t)
}

func TestAutoscaling(t *testing.T) {
	inOut{
		"HorizontalPodAutoscaler": {
			in: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3}}`,
			want: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 1
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`,
		},
		"HorizontalPodAutoscaler with a behavior": {
			in: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 0
  metrics: [{type: Pods}]
  behavior: {}
`,
			want: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 0
  metrics: [{type: Pods}]
  behavior:
    scaleUp:
      stabilizationWindowSeconds: 0
      selectPolicy: Max
      policies: [{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]
    scaleDown:
      selectPolicy: Max
      policies: [{type: Percent, value: 100, periodSeconds: 15}]
`,
		},
		"HorizontalPodAutoscaler with a behavior of its own": {
			in: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 2
  metrics: [{type: Pods}]
  behavior:
    scaleUp: {stabilizationWindowSeconds: 5, selectPolicy: Disabled, policies: [{type: Pods, value: 1, periodSeconds: 1}]}
    scaleDown: {stabilizationWindowSeconds: 6, selectPolicy: Min, tolerance: "0.1"}
`,
			want: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 2
  metrics: [{type: Pods}]
  behavior:
    scaleUp: {stabilizationWindowSeconds: 5, selectPolicy: Disabled, policies: [{type: Pods, value: 1, periodSeconds: 1}]}
    scaleDown:
      stabilizationWindowSeconds: 6
      selectPolicy: Min
      tolerance: "0.1"
      policies: [{type: Percent, value: 100, periodSeconds: 15}]
`,
		},
	}.run(t)
}

package defaults_test

import "testing"

func TestBatch(t *testing.T) {
	manifests{
		"Job": {
			in: `{apiVersion: batch/v1, kind: Job, spec: {template: {metadata: {labels: {app: x}}, spec: {restartPolicy: Never}}}}`,
			want: `
apiVersion: batch/v1
kind: Job
metadata: {labels: {app: x}}
spec:
  completions: 1
  manualSelector: false
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
		"Job with parallelism only": {
			in: `{apiVersion: batch/v1, kind: Job, metadata: {labels: {a: b}}, spec: {parallelism: 3, suspend: true, ` +
				`template: {metadata: {labels: {app: x}}}}}`,
			want: `
apiVersion: batch/v1
kind: Job
metadata: {labels: {a: b}}
spec:
  manualSelector: false
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
		"Indexed Job": {
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
  manualSelector: false
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

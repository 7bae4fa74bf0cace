package columns_test

import "testing"

func TestJob(t *testing.T) {
	const tail = `
Containers*:
Images*:
Selector*: <none>`
	rows{
		"running": {
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
status:
  succeeded: 1
  startTime: "2026-01-02T00:05:00Z"
  completionTime: "2026-01-02T00:05:30Z"
  conditions: [{type: Complete, status: "True"}]
`,
			want: `
Name: a
Status: Complete
Completions: 1/1 of 3
Duration: 30s
Age: <unknown>` + tail,
		},
		"failed": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {}}, ` +
				`status: {conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]}}`,
			want: `
Name: a
Status: Failed
Completions: 0/1
Duration:
Age: <unknown>` + tail,
		},
		"being deleted": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, deletionTimestamp: "2026-01-02T00:00:00Z"}, ` +
				`spec: {template: {}}, status: {conditions: [{type: Suspended, status: "True"}]}}`,
			want: `
Name: a
Status: Terminating
Completions: 0/1
Duration:
Age: <unknown>` + tail,
		},
		"suspended": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {}}, ` +
				`status: {conditions: [{type: Suspended, status: "True"}, {type: Complete, status: "False"}]}}`,
			want: `
Name: a
Status: Suspended
Completions: 0/1
Duration:
Age: <unknown>` + tail,
		},
		"about to fail": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {}}, ` +
				`status: {conditions: [{type: FailureTarget, status: "True"}]}}`,
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
			object: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: "@daily", ` +
				`suspend: false, jobTemplate: {spec: {template: {}}}}}`,
			want: `
Name: a
Schedule: @daily
Timezone: <none>
Suspend: False
Active: 0
Last Schedule: <none>
Age: <unknown>` + tail,
		},
		"CronJob without defaults": {
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

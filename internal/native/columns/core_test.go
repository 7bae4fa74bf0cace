package columns_test

import "testing"

func TestCore(t *testing.T) {
	rows{
		"Namespace": {
			object: `{apiVersion: v1, kind: Namespace, metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}, status: {phase: Active}}`,
			want: `
Name: a
Status: Active
Age: 10m`,
		},
		"not yet created": {
			object: `{apiVersion: v1, kind: Namespace, metadata: {name: a}}`,
			want: `
Name: a
Status:
Age: <unknown>`,
		},
		"ConfigMap": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: "2026-01-01T00:10:00Z"}, ` +
				`data: {a: "1", b: "2"}, binaryData: {c: eA==}}`,
			want: `
Name: a
Data: 3
Age: 24h`,
		},
		"Secret": {
			object: `{apiVersion: v1, kind: Secret, metadata: {name: a}, type: Opaque, data: {a: eA==}}`,
			want: `
Name: a
Type: Opaque
Data: 1
Age: <unknown>`,
		},
		"ServiceAccount": {
			object: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: x}]}`,
			want: `
Name: a
Age: <unknown>`,
		},
		"PodTemplate": {
			object: `
apiVersion: v1
kind: PodTemplate
metadata: {name: a}
template:
  metadata: {labels: {app: web, tier: front}}
  spec: {containers: [{name: a, image: x:1}, {name: b, image: y:2}]}
`,
			want: `
Name: a
Containers: a,b
Images: x:1,y:2
Pod Labels: app=web,tier=front`,
		},
		"ReplicationController": {
			object: `
apiVersion: v1
kind: ReplicationController
metadata: {name: a, creationTimestamp: "2026-01-02T00:09:00Z"}
spec: {replicas: 3, selector: {app: web}, template: {spec: {containers: [{name: a, image: x:1}]}}}
status: {replicas: 2, readyReplicas: 1}
`,
			want: `
Name: a
Desired: 3
Current: 2
Ready: 1
Age: 60s
Containers*: a
Images*: x:1
Selector*: app=web`,
		},
		"ReplicationController without a template": {
			object: `{apiVersion: v1, kind: ReplicationController, metadata: {name: a}}`,
			want: `
Name: a
Desired: 0
Current: 0
Ready: 0
Age: <unknown>
Containers*:
Images*:
Selector*: <none>`,
		},
		"LimitRange": {
			object: `{apiVersion: v1, kind: LimitRange, metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}}`,
			want: `
Name: a
Created At: 2026-01-02T00:00:00Z`,
		},
		"ResourceQuota": {
			object: `
apiVersion: v1
kind: ResourceQuota
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
status:
  hard: {requests.cpu: "4", pods: "10", limits.cpu: "8", limits.memory: 1Gi}
  used: {requests.cpu: 500m, pods: "1", limits.cpu: "2"}
`,
			want: `
Name: a
Request: pods: 1/10, requests.cpu: 500m/4
Limit: limits.cpu: 2/8, limits.memory: 0/1Gi
Age: 10m`,
		},
	}.run(t)
}

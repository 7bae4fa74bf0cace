package columns_test

import "testing"

func TestAPIServices(t *testing.T) {
	rows{
		"served by this server": {
			object: `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.apps, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {group: apps, version: v1}
status: {conditions: [{type: Available, status: "True", reason: Local}]}`,
			want: `
Name: v1.apps
Service: Local
Available: True
Age: 10m`,
		},
		"not available": {
			object: `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec: {group: metrics.k8s.io, version: v1beta1, service: {namespace: kube-system, name: metrics-server}}
status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints}]}`,
			want: `
Name: v1beta1.metrics.k8s.io
Service: kube-system/metrics-server
Available: False (MissingEndpoints)
Age: <unknown>`,
		},
		"not checked yet": {
			object: `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.a.example}
spec: {group: a.example, version: v1, service: {namespace: a, name: b}}`,
			want: `
Name: v1.a.example
Service: a/b
Available: Unknown
Age: <unknown>`,
		},
	}.run(t)
}

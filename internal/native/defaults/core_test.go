package defaults_test

import "testing"

func TestCore(t *testing.T) {
	manifests{
		"Namespace": {
			in: `{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {team: x, kubernetes.io/metadata.name: wrong}}}`,
			want: `
apiVersion: v1
kind: Namespace
metadata: {name: a, labels: {team: x, kubernetes.io/metadata.name: a}}
status: {phase: Active}
`,
		},
		"Namespace with generateName": {
			in:   `{apiVersion: v1, kind: Namespace, metadata: {generateName: a-}}`,
			want: `{apiVersion: v1, kind: Namespace, metadata: {generateName: a-}, status: {phase: Active}}`,
		},
		"Namespace that is terminating": {
			in: `{apiVersion: v1, kind: Namespace, metadata: {name: a}, status: {phase: Terminating}}`,
			want: `
apiVersion: v1
kind: Namespace
metadata: {name: a, labels: {kubernetes.io/metadata.name: a}}
status: {phase: Terminating}
`,
		},
		"Secret": {
			in:   `{apiVersion: v1, kind: Secret, data: {a: eA==}}`,
			want: `{apiVersion: v1, kind: Secret, data: {a: eA==}, type: Opaque}`,
		},
		"ConfigMap": {
			in:   `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`,
			want: `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`,
		},
		"ServiceAccount": {
			in:   `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}`,
			want: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}`,
		},
		"Node": {
			in: `{apiVersion: v1, kind: Node, status: {capacity: {cpu: 1500u, memory: 1Gi}}}`,
			want: `
apiVersion: v1
kind: Node
status:
  capacity: {cpu: 2m, memory: 1Gi}
  allocatable: {cpu: 2m, memory: 1Gi}
`,
		},
		"Node with allocatable": {
			in: `{apiVersion: v1, kind: Node, status: {capacity: {cpu: "4"}, allocatable: {cpu: 3500500u}}}`,
			want: `
apiVersion: v1
kind: Node
status:
  capacity: {cpu: "4"}
  allocatable: {cpu: 3501m}
`,
		},
		"Endpoints": {
			in: `{apiVersion: v1, kind: Endpoints, subsets: [{ports: [{port: 80}, {port: 53, protocol: UDP}]}]}`,
			want: `
apiVersion: v1
kind: Endpoints
subsets:
- ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP}]
`,
		},
		"LimitRange for containers": {
			in: `
apiVersion: v1
kind: LimitRange
spec:
  limits:
  - type: Container
    max: {cpu: "2", memory: 1Gi}
    min: {cpu: 100u, storage: 1Gi}
    default: {memory: 512Mi}
`,
			want: `
apiVersion: v1
kind: LimitRange
spec:
  limits:
  - type: Container
    max: {cpu: "2", memory: 1Gi}
    min: {cpu: 1m, storage: 1Gi}
    default: {cpu: "2", memory: 512Mi}
    defaultRequest: {cpu: "2", memory: 512Mi, storage: 1Gi}
`,
		},
		"LimitRange for pods": {
			in: `
apiVersion: v1
kind: LimitRange
spec:
  limits:
  - type: Pod
    max: {cpu: 1u}
    default: {cpu: 1u}
    defaultRequest: {cpu: 1u}
    maxLimitRequestRatio: {cpu: 1u}
`,
			want: `
apiVersion: v1
kind: LimitRange
spec:
  limits:
  - type: Pod
    max: {cpu: 1m}
    default: {cpu: 1m}
    defaultRequest: {cpu: 1m}
    maxLimitRequestRatio: {cpu: 1m}
`,
		},
		"ResourceQuota": {
			in: `
apiVersion: v1
kind: ResourceQuota
spec: {hard: {cpu: 1100u}}
status: {hard: {cpu: 1100u}, used: {cpu: 100u}}
`,
			want: `
apiVersion: v1
kind: ResourceQuota
spec: {hard: {cpu: 2m}}
status: {hard: {cpu: 2m}, used: {cpu: 1m}}
`,
		},
		"ReplicationController": {
			in: `
apiVersion: v1
kind: ReplicationController
spec:
  template:
    metadata: {labels: {app: web}}
`,
			want: `
apiVersion: v1
kind: ReplicationController
metadata: {labels: {app: web}}
spec:
  replicas: 1
  selector: {app: web}
  template:
    metadata: {labels: {app: web}}
    spec:
      restartPolicy: Always
      dnsPolicy: ClusterFirst
      schedulerName: default-scheduler
      terminationGracePeriodSeconds: 30
      securityContext: {}
`,
		},
		"ReplicationController with all fields": {
			in: `
apiVersion: v1
kind: ReplicationController
metadata: {labels: {a: b}}
spec: {replicas: 0, selector: {c: d}}
`,
			want: `
apiVersion: v1
kind: ReplicationController
metadata: {labels: {a: b}}
spec: {replicas: 0, selector: {c: d}}
`,
		},
		"PodTemplate": {
			in: `{apiVersion: v1, kind: PodTemplate, template: {spec: {hostNetwork: true}}}`,
			want: `
apiVersion: v1
kind: PodTemplate
template:
  spec:
    hostNetwork: true
    restartPolicy: Always
    dnsPolicy: ClusterFirst
    schedulerName: default-scheduler
    terminationGracePeriodSeconds: 30
    securityContext: {}
`,
		},
	}.run(t)
}

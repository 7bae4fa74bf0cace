package defaults_test

import "testing"

func TestApps(t *testing.T) {
	manifests{
		"Deployment": {
			in: `
apiVersion: apps/v1
kind: Deployment
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      hostNetwork: true
      containers: [{name: a, image: a:1, ports: [{containerPort: 80}], resources: {limits: {cpu: 1u}}}]
`,
			want: `
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 1
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {labels: {app: web}}
    spec:
      hostNetwork: true
      restartPolicy: Always
      dnsPolicy: ClusterFirst
      schedulerName: default-scheduler
      terminationGracePeriodSeconds: 30
      securityContext: {}
      containers:
      - name: a
        image: a:1
        imagePullPolicy: IfNotPresent
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
        ports: [{containerPort: 80, protocol: TCP}]
        resources: {limits: {cpu: 1m}}
`,
		},
		"Deployment with Recreate": {
			in: `
apiVersion: apps/v1
kind: Deployment
spec: {replicas: 0, revisionHistoryLimit: 0, progressDeadlineSeconds: 1, strategy: {type: Recreate}}
`,
			want: `
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 0
  revisionHistoryLimit: 0
  progressDeadlineSeconds: 1
  strategy: {type: Recreate}
` + emptyTemplate,
		},
		"Deployment with rollingUpdate": {
			in: `
apiVersion: apps/v1
kind: Deployment
spec: {strategy: {rollingUpdate: {maxUnavailable: 0}}}
`,
			want: `
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 1
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
` + emptyTemplate,
		},
		"StatefulSet": {
			in: `
apiVersion: apps/v1
kind: StatefulSet
spec:
  volumeClaimTemplates: [{metadata: {name: data}, spec: {dataSource: {kind: A, name: a}}}]
`,
			want: `
apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 1
  revisionHistoryLimit: 10
  podManagementPolicy: OrderedReady
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
  volumeClaimTemplates:
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: data}
    spec: {volumeMode: Filesystem, dataSource: {kind: A, name: a}}
    status: {phase: Pending}
` + emptyTemplate,
		},
		"StatefulSet with all fields": {
			in: `
apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 3
  revisionHistoryLimit: 2
  podManagementPolicy: Parallel
  updateStrategy: {type: RollingUpdate}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
`,
			want: `
apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 3
  revisionHistoryLimit: 2
  podManagementPolicy: Parallel
  updateStrategy: {type: RollingUpdate}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}
` + emptyTemplate,
		},
		"StatefulSet with OnDelete": {
			in: `
apiVersion: apps/v1
kind: StatefulSet
spec: {replicas: 3, revisionHistoryLimit: 2, podManagementPolicy: Parallel, updateStrategy: {type: OnDelete}}
`,
			want: `
apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 3
  revisionHistoryLimit: 2
  podManagementPolicy: Parallel
  updateStrategy: {type: OnDelete}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
` + emptyTemplate,
		},
		"DaemonSet": {
			in: `{apiVersion: apps/v1, kind: DaemonSet}`,
			want: `
apiVersion: apps/v1
kind: DaemonSet
spec:
  revisionHistoryLimit: 10
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
` + emptyTemplate,
		},
		"DaemonSet with OnDelete": {
			in: `{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: OnDelete}}}`,
			want: `
apiVersion: apps/v1
kind: DaemonSet
spec:
  revisionHistoryLimit: 10
  updateStrategy: {type: OnDelete}
` + emptyTemplate,
		},
		"ReplicaSet": {
			in: `{apiVersion: apps/v1, kind: ReplicaSet, spec: {template: {metadata: {labels: {app: web}}}}}`,
			want: `
apiVersion: apps/v1
kind: ReplicaSet
spec:
  replicas: 1
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
	}.run(t)
}

// emptyTemplate is the pod template of a workload that sets none, with its defaults. It is the end of a spec.
const emptyTemplate = `
  template:
    spec:
      restartPolicy: Always
      dnsPolicy: ClusterFirst
      schedulerName: default-scheduler
      terminationGracePeriodSeconds: 30
      securityContext: {}
`

package columns_test

import "testing"

func TestCore(t *testing.T) {
	shown{
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
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: "2026-01-01T00:10:00Z"}, data: {a: "1", b: "2"}, binaryData: {c: eA==}}`,
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
Secrets: 1
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

func TestNode(t *testing.T) {
	shown{
		"ready": {
			object: `
apiVersion: v1
kind: Node
metadata:
  name: a
  creationTimestamp: "2026-01-02T00:00:00Z"
  labels: {node-role.kubernetes.io/worker: "", node-role.kubernetes.io/control-plane: "", kubernetes.io/role: worker, node-role.kubernetes.io/: ""}
status:
  conditions: [{type: MemoryPressure, status: "False"}, {type: Ready, status: "True"}]
  addresses: [{type: Hostname, address: a}, {type: InternalIP, address: 10.0.0.1}, {type: ExternalIP, address: 1.2.3.4}]
  nodeInfo: {kubeletVersion: v1.37.2, osImage: Debian, kernelVersion: "6.1", containerRuntimeVersion: containerd://2, machineID: "", systemUUID: "", bootID: "", kubeProxyVersion: "", operatingSystem: "", architecture: ""}
`,
			want: `
Name: a
Status: Ready
Roles: control-plane,worker
Age: 10m
Version: v1.37.2
Internal-IP*: 10.0.0.1
External-IP*: 1.2.3.4
OS-Image*: Debian
Kernel-Version*: 6.1
Container-Runtime*: containerd://2`,
		},
		"not ready, drained": {
			object: `
apiVersion: v1
kind: Node
metadata: {name: a}
spec: {unschedulable: true}
status: {conditions: [{type: Ready, status: Unknown}]}
`,
			want: `
Name: a
Status: NotReady,SchedulingDisabled
Roles: <none>
Age: <unknown>
Version:
Internal-IP*: <none>
External-IP*: <none>
OS-Image*: <unknown>
Kernel-Version*: <unknown>
Container-Runtime*: <unknown>`,
		},
		"unheard of": {
			object: `{apiVersion: v1, kind: Node, metadata: {name: a}}`,
			want: `
Name: a
Status: Unknown
Roles: <none>
Age: <unknown>
Version:
Internal-IP*: <none>
External-IP*: <none>
OS-Image*: <unknown>
Kernel-Version*: <unknown>
Container-Runtime*: <unknown>`,
		},
	}.run(t)
}

func TestVolumes(t *testing.T) {
	shown{
		"PersistentVolume": {
			object: `
apiVersion: v1
kind: PersistentVolume
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOncePod, ReadWriteMany, ReadOnlyMany, ReadWriteOnce, ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  claimRef: {namespace: ns, name: claim}
  storageClassName: fast
  volumeAttributesClassName: gold
  volumeMode: Filesystem
status: {phase: Bound, reason: because}
`,
			want: `
Name: a
Capacity: 5Gi
Access Modes: RWO,ROX,RWX,RWOP
Reclaim Policy: Retain
Status: Bound
Claim: ns/claim
StorageClass: fast
VolumeAttributesClass: gold
Reason: because
Age: 10m
VolumeMode*: Filesystem`,
		},
		"PersistentVolume that goes away": {
			object: `
apiVersion: v1
kind: PersistentVolume
metadata:
  name: a
  deletionTimestamp: "2026-01-02T00:00:00Z"
  annotations: {volume.beta.kubernetes.io/storage-class: old}
spec: {storageClassName: fast}
status: {phase: Bound}
`,
			want: `
Name: a
Capacity: 0
Access Modes:
Reclaim Policy:
Status: Terminating
Claim:
StorageClass: old
VolumeAttributesClass: <unset>
Reason:
Age: <unknown>
VolumeMode*: <unset>`,
		},
		"PersistentVolumeClaim that waits": {
			object: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}, volumeMode: Block}
status: {phase: Pending}
`,
			want: `
Name: a
Status: Pending
Volume:
Capacity:
Access Modes:
StorageClass:
VolumeAttributesClass: <unset>
Age: 10m
VolumeMode*: Block`,
		},
		"PersistentVolumeClaim": {
			object: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {volumeName: pv, storageClassName: fast, volumeAttributesClassName: gold}
status: {phase: Bound, capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce]}
`,
			want: `
Name: a
Status: Bound
Volume: pv
Capacity: 5Gi
Access Modes: RWO
StorageClass: fast
VolumeAttributesClass: gold
Age: <unknown>
VolumeMode*: <unset>`,
		},
	}.run(t)
}

func TestEvents(t *testing.T) {
	shown{
		"of core": {
			object: `
apiVersion: v1
kind: Event
metadata: {name: a.1}
type: Warning
reason: BackOff
message: " it fails\n"
involvedObject: {kind: Pod, name: web, fieldPath: "spec.containers{a}"}
source: {component: kubelet, host: node-1}
firstTimestamp: "2026-01-02T00:00:00Z"
lastTimestamp: "2026-01-02T00:09:00Z"
count: 4
`,
			want: `
Last Seen: 60s
Type: Warning
Reason: BackOff
Object: pod/web
Subobject*: spec.containers{a}
Source*: kubelet, node-1
Message: it fails
First Seen*: 10m
Count*: 4
Name*: a.1`,
		},
		"once, told with a time alone": {
			object: `
apiVersion: v1
kind: Event
metadata: {name: a.1}
involvedObject: {kind: Node}
eventTime: "2026-01-02T00:00:00.000000Z"
reportingComponent: c
`,
			want: `
Last Seen: 10m
Type:
Reason:
Object: node
Subobject*:
Source*: c
Message:
First Seen*: 10m
Count*: 1
Name*: a.1`,
		},
		"of events.k8s.io, a series": {
			object: `
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: a.1}
type: Normal
reason: Seen
note: seen again
regarding: {kind: Pod, name: web}
eventTime: "2026-01-02T00:00:00.000000Z"
reportingController: c
reportingInstance: c-1
series: {count: 7, lastObservedTime: "2026-01-02T00:09:30.000000Z"}
`,
			want: `
Last Seen: 30s
Type: Normal
Reason: Seen
Object: pod/web
Subobject*:
Source*: c, c-1
Message: seen again
First Seen*: 10m
Count*: 7
Name*: a.1`,
		},
		"of events.k8s.io, by an old client": {
			object: `
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: a.1}
type: Normal
reason: Seen
note: seen
regarding: {kind: Pod, name: web}
eventTime: null
deprecatedSource: {component: c}
deprecatedFirstTimestamp: "2026-01-02T00:00:00Z"
deprecatedLastTimestamp: "2026-01-02T00:09:00Z"
deprecatedCount: 2
`,
			want: `
Last Seen: 60s
Type: Normal
Reason: Seen
Object: pod/web
Subobject*:
Source*: c
Message: seen
First Seen*: 10m
Count*: 2
Name*: a.1`,
		},
	}.run(t)
}

package columns_test

import "testing"

func TestStorage(t *testing.T) {
	rows{
		"CSIDriver": {
			object: `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  podInfoOnMount: true
  storageCapacity: true
  tokenRequests: [{audience: a}, {audience: b}]
  volumeLifecycleModes: [Persistent, Ephemeral]
`,
			want: `
Name: a
AttachRequired: true
PodInfoOnMount: true
StorageCapacity: true
TokenRequests: a,b
RequiresRepublish: false
Modes: Persistent,Ephemeral
Age: 10m`,
		},
		"empty CSIDriver": {
			object: `{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: a}, spec: {attachRequired: false}}`,
			want: `
Name: a
AttachRequired: false
PodInfoOnMount: false
StorageCapacity: false
TokenRequests: <unset>
RequiresRepublish: false
Modes: <none>
Age: <unknown>`,
		},
		"ResourceClaim": {
			object: `{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a}, spec: {devices: {requests: []}}, ` +
				`status: {allocation: {}, reservedFor: [{resource: pods, name: p, uid: u}]}}`,
			want: `
Name: a
State: allocated,reserved
Age: <unknown>`,
		},
		"new ResourceClaim": {
			object: `{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a}, spec: {devices: {requests: []}}}`,
			want: `
Name: a
State: pending
Age: <unknown>`,
		},
		"ResourceSlice": {
			object: `{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: a}, ` +
				`spec: {driver: d, nodeName: n1, pool: {name: p, generation: 1, resourceSliceCount: 1}}}`,
			want: `
Name: a
Node: n1
Driver: d
Pool: p
Age: <unknown>`,
		},
		"DeviceTaintRule": {
			object: `{apiVersion: resource.k8s.io/v1, kind: DeviceTaintRule, metadata: {name: a}, ` +
				`spec: {taint: {key: k, value: v, effect: NoSchedule, timeAdded: "2026-01-02T00:00:00Z"}}}`,
			want: `
Name: a
Key: k
Value: v
Effect: NoSchedule
TimeAdded: 10m
Age: <unknown>`,
		},
		"StorageVersionMigration": {
			object: `{apiVersion: storagemigration.k8s.io/v1, kind: StorageVersionMigration, metadata: {name: a}, ` +
				`spec: {resource: {group: example.com, resource: boats}}, status: {conditions: [` +
				`{type: Running, status: "False"}, {type: Succeeded, status: "True"}, {type: Other, status: "True"}]}}`,
			want: `
Name: a
Resource: boats.example.com
Status: Succeeded`,
		},
		"StorageVersionMigration that waits": {
			object: `{apiVersion: storagemigration.k8s.io/v1, kind: StorageVersionMigration, metadata: {name: a}, spec: {resource: {resource: secrets}}}`,
			want: `
Name: a
Resource: secrets
Status: Unknown`,
		},
		"CSINode": {
			object: `{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: a}, ` +
				`spec: {drivers: [{name: b, nodeID: c, topologyKeys: []}]}}`,
			want: `
Name: a
Drivers: 1
Age: <unknown>`,
		},
		"CSIStorageCapacity": {
			object: `{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: a}, storageClassName: b, capacity: 1Gi}`,
			want: `
Name: a
StorageClassName: b
Capacity: 1Gi`,
		},
		"CSIStorageCapacity without capacity": {
			object: `{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: a}, storageClassName: b}`,
			want: `
Name: a
StorageClassName: b
Capacity: <unset>`,
		},
		"VolumeAttachment": {
			object: `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a}, spec: {attacher: b, nodeName: c, ` +
				`source: {persistentVolumeName: d}}, status: {attached: true}}`,
			want: `
Name: a
Attacher: b
PV: d
Node: c
Attached: true
Age: <unknown>`,
		},
		"VolumeAttributesClass": {
			object: `{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: a}, driverName: b}`,
			want: `
Name: a
DriverName: b
Age: <unknown>`,
		},
		"ServiceCIDR": {
			object: `{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: a}, ` +
				`spec: {cidrs: [10.0.0.0/24, "2001:db8::/64"]}}`,
			want: `
Name: a
CIDRs: 10.0.0.0/24,2001:db8::/64
Age: <unknown>`,
		},
		"IPAddress": {
			object: `{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: 10.0.0.1}, ` +
				`spec: {parentRef: {resource: services, namespace: a, name: b}}}`,
			want: `
Name: 10.0.0.1
ParentRef: services/a/b`,
		},
	}.run(t)
}

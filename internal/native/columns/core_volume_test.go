package columns_test

import "testing"

func TestVolumes(t *testing.T) {
	rows{
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
		"PersistentVolume being deleted": {
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
		"PersistentVolumeClaim that is pending": {
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

package defaults_test

import "testing"

func TestClasses(t *testing.T) {
	manifests{
		"StorageClass": {
			in:   `{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: a.com/b}`,
			want: `{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: a.com/b, reclaimPolicy: Delete, volumeBindingMode: Immediate}`,
		},
		"StorageClass with all fields": {
			in:   `{apiVersion: storage.k8s.io/v1, kind: StorageClass, reclaimPolicy: Retain, volumeBindingMode: WaitForFirstConsumer}`,
			want: `{apiVersion: storage.k8s.io/v1, kind: StorageClass, reclaimPolicy: Retain, volumeBindingMode: WaitForFirstConsumer}`,
		},
		"CSIDriver": {
			in: `{apiVersion: storage.k8s.io/v1, kind: CSIDriver, spec: {}}`,
			want: `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
spec:
  attachRequired: true
  podInfoOnMount: false
  storageCapacity: false
  fsGroupPolicy: ReadWriteOnceWithFSType
  volumeLifecycleModes: [Persistent]
  requiresRepublish: false
  seLinuxMount: false
  preventPodSchedulingIfMissing: false`,
		},
		"ResourceClaim": {
			in: `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
spec:
  devices:
    requests:
    - {name: a, exactly: {deviceClassName: b}}
    - {name: c, firstAvailable: [{name: d, deviceClassName: b, allocationMode: All}]}`,
			want: `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
spec:
  devices:
    requests:
    - {name: a, exactly: {deviceClassName: b, allocationMode: ExactCount, count: 1}}
    - {name: c, firstAvailable: [{name: d, deviceClassName: b, allocationMode: All}]}`,
		},
		"VolumeAttachment": {
			in: `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, spec: {attacher: a, nodeName: a, source: {inlineVolumeSpec: {iscsi: {iqn: a, lun: 0, targetPortal: a}}}}}`,
			want: `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, spec: {attacher: a, nodeName: a,
  source: {inlineVolumeSpec: {iscsi: {iqn: a, lun: 0, targetPortal: a, iscsiInterface: default}}}}, status: {attached: false}}`,
		},
		"PriorityClass": {
			in:   `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1}`,
			want: `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1, preemptionPolicy: PreemptLowerPriority}`,
		},
		"PriorityClass that never preempts": {
			in:   `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1, preemptionPolicy: Never}`,
			want: `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1, preemptionPolicy: Never}`,
		},
	}.run(t)
}

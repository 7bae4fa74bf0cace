package frozen_test

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
)

// TestOtherGroups checks updates of the kinds of other groups, see checkUpdates.
func TestOtherGroups(t *testing.T) {
	checkUpdates(t, map[string]update{
		"role binding": {
			kind: &rbacv1.RoleBinding{},
			old:  `{roleRef: {kind: Role, name: a}}`,
			new:  `{roleRef: {kind: Role, name: b}, subjects: [{kind: User, name: u}]}`,
			want: []string{`roleRef: Invalid value: {"apiGroup":"","kind":"Role","name":"b"}: field is immutable`},
		},
		"cluster role binding": {
			kind: &rbacv1.ClusterRoleBinding{},
			old:  `{roleRef: {name: a}}`,
			new:  `{roleRef: {name: b}}`,
			want: []string{`roleRef: Invalid value: {"apiGroup":"","kind":"","name":"b"}: field is immutable`},
		},
		"priority class": {
			kind: &schedulingv1.PriorityClass{},
			old:  `{value: 1, description: a}`,
			new:  `{value: 2, description: b, preemptionPolicy: Never}`,
			want: []string{
				`preemptionPolicy: Invalid value: "Never": field is immutable`,
				`value: Invalid value: 2: field is immutable`,
			},
		},
		"signer of a trust bundle": {
			kind: &certificatesv1.ClusterTrustBundle{},
			old:  `{spec: {signerName: a.com/b, trustBundle: a}}`,
			new:  `{spec: {signerName: a.com/c, trustBundle: b}}`,
			want: []string{`spec.signerName: Invalid value: "a.com/c": field is immutable`},
		},
		"migration": {
			kind: &storagemigrationv1.StorageVersionMigration{},
			old:  `{spec: {resource: {group: example.com, resource: boats}}}`,
			new:  `{spec: {resource: {group: example.com, resource: ships}}}`,
			want: []string{`spec.resource.resource: Invalid value: "ships": field is immutable`},
		},
		"runtime class": {
			kind: &nodev1.RuntimeClass{},
			old:  `{handler: runc}`,
			new:  `{handler: runsc, overhead: {podFixed: {cpu: 1}}}`,
			want: []string{`handler: Invalid value: "runsc": field is immutable`},
		},
		"resource claim": {
			kind: &resourcev1.ResourceClaim{},
			old:  `{spec: {devices: {requests: [{name: a, exactly: {deviceClassName: b}}]}}}`,
			new:  `{spec: {devices: {requests: [{name: a, exactly: {deviceClassName: c}}]}}}`,
			want: []string{`spec.devices.requests[0].exactly.deviceClassName: Invalid value: "c": field is immutable`},
		},
		"resource slice": {
			kind: &resourcev1.ResourceSlice{},
			old:  `{spec: {driver: a, nodeName: n, pool: {name: p, generation: 1, resourceSliceCount: 1}}}`,
			new:  `{spec: {driver: b, nodeName: o, pool: {name: q, generation: 2, resourceSliceCount: 1}}}`,
			want: []string{
				`spec.driver: Invalid value: "b": field is immutable`,
				`spec.nodeName: Invalid value: "o": field is immutable`,
				`spec.pool.name: Invalid value: "q": field is immutable`,
			},
		},
		"CSI driver": {
			kind: &storagev1.CSIDriver{},
			old:  `{spec: {attachRequired: true, volumeLifecycleModes: [Persistent], podInfoOnMount: true}}`,
			new:  `{spec: {attachRequired: false, volumeLifecycleModes: [Ephemeral], podInfoOnMount: false}}`,
			want: []string{
				`spec.attachRequired: Invalid value: false: field is immutable`,
				`spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable`,
			},
		},
		"storage capacity": {
			kind: &storagev1.CSIStorageCapacity{},
			old:  `{storageClassName: a, nodeTopology: {matchLabels: {a: b}}, capacity: 1Gi}`,
			new:  `{storageClassName: b, capacity: 2Gi}`,
			want: []string{
				`nodeTopology: Invalid value: null: field is immutable`,
				`storageClassName: Invalid value: "b": field is immutable`,
			},
		},
		"attachment": {
			kind: &storagev1.VolumeAttachment{},
			old:  `{spec: {attacher: a, nodeName: n, source: {persistentVolumeName: v}}}`,
			new:  `{spec: {attacher: a, nodeName: o, source: {persistentVolumeName: v}}}`,
			want: []string{`spec.nodeName: Invalid value: "o": field is immutable`},
		},
		"attributes class": {
			kind: &storagev1.VolumeAttributesClass{},
			old:  `{driverName: a, parameters: {a: b}}`,
			new:  `{driverName: b, parameters: {a: c}}`,
			want: []string{
				`driverName: Invalid value: "b": field is immutable`,
				`parameters: Invalid value: {"a":"c"}: field is immutable`,
			},
		},
		"storage class": {
			kind: &storagev1.StorageClass{},
			old:  `{provisioner: a, parameters: {x: "1"}, reclaimPolicy: Delete, volumeBindingMode: Immediate}`,
			new: `{provisioner: b, parameters: {x: "2"}, reclaimPolicy: Retain, volumeBindingMode: WaitForFirstConsumer, ` +
				`allowVolumeExpansion: true}`,
			want: []string{
				`parameters: Invalid value: {"x":"2"}: field is immutable`,
				`provisioner: Invalid value: "b": field is immutable`,
				`reclaimPolicy: Invalid value: "Retain": field is immutable`,
				`volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable`,
			},
		},
		"endpoint slice": {
			kind: &discoveryv1.EndpointSlice{},
			old:  `{addressType: IPv4}`,
			new:  `{addressType: IPv6, endpoints: [{addresses: [a]}]}`,
			want: []string{`addressType: Invalid value: "IPv6": field is immutable`},
		},
		"ingress class": {
			kind: &networkingv1.IngressClass{},
			old:  `{spec: {controller: a.b/c}}`,
			new:  `{spec: {controller: a.b/d}}`,
			want: []string{`spec.controller: Invalid value: "a.b/d": field is immutable`},
		},
	})
}

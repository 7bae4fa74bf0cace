package frozen_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestCore checks updates of the kinds of the core group, see checkUpdates.
func TestCore(t *testing.T) {
	checkUpdates(t, map[string]update{
		"quota scopes": {
			kind: &corev1.ResourceQuota{},
			old:  `{spec: {hard: {pods: 1}, scopes: [BestEffort]}}`,
			new:  `{spec: {hard: {pods: 2}, scopes: [NotBestEffort]}}`,
			want: []string{`spec.scopes: Invalid value: ["NotBestEffort"]: field is immutable`},
		},
		"quota scopes in another order": {
			kind: &corev1.ResourceQuota{},
			old:  `{spec: {hard: {pods: 1}, scopes: [NotTerminating, NotBestEffort]}}`,
			new:  `{spec: {hard: {pods: 2}, scopes: [NotBestEffort, NotTerminating]}}`,
		},
		"pod image, tolerations added, gate removed, deadline set": {
			kind: &corev1.Pod{},
			old:  `{spec: {containers: [{name: a, image: x}], schedulingGates: [{name: g}], tolerations: [{key: a}]}}`,
			new:  `{spec: {containers: [{name: a, image: y}], activeDeadlineSeconds: 5, tolerations: [{key: b}, {key: a}]}}`,
		},
		"pod toleration for another time": {
			kind: &corev1.Pod{},
			old:  `{spec: {tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]}}`,
			new:  `{spec: {tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]}}`,
		},
		"pod toleration of another effect": {
			kind: &corev1.Pod{},
			old:  `{spec: {tolerations: [{key: a, effect: NoExecute}]}}`,
			new:  `{spec: {tolerations: [{key: a, effect: NoSchedule}]}}`,
			want: []string{`spec.tolerations: Invalid value: [{"effect":"NoSchedule","key":"a"}]: field is immutable`},
		},
		"pod fields that cannot change": {
			kind: &corev1.Pod{},
			old:  `{spec: {nodeName: n, activeDeadlineSeconds: 5, containers: [{name: a, image: x}], tolerations: [{key: a}]}}`,
			new:  `{spec: {nodeName: m, activeDeadlineSeconds: 6, containers: [{name: a, image: x, command: [sh]}], schedulingGates: [{name: g}]}}`,
			want: []string{
				`spec.activeDeadlineSeconds: Invalid value: 6: field is immutable`,
				`spec.containers[0].command: Invalid value: ["sh"]: field is immutable`,
				`spec.nodeName: Invalid value: "m": field is immutable`,
				`spec.schedulingGates: Invalid value: [{"name":"g"}]: field is immutable`,
				`spec.tolerations: Invalid value: null: field is immutable`,
			},
		},
		"pod quantity in another form": {
			kind: &corev1.Pod{},
			old:  `{spec: {containers: [{name: a, resources: {limits: {cpu: "1"}}}]}}`,
			new:  `{spec: {containers: [{name: a, resources: {limits: {cpu: 1000m}}}]}}`,
		},
		"pod node selector": {
			kind: &corev1.Pod{},
			old:  `{spec: {}}`,
			new:  `{spec: {nodeSelector: {a: b}}}`,
			want: []string{`spec.nodeSelector: Invalid value: {"a":"b"}: field is immutable`},
		},
		"pod node selector while gated": {
			kind: &corev1.Pod{},
			old:  `{spec: {schedulingGates: [{name: g}], nodeSelector: {a: b}}}`,
			new:  `{spec: {schedulingGates: [{name: g}], nodeSelector: {a: b, c: d}}}`,
		},
		"pod negative grace period": {
			kind: &corev1.Pod{},
			old:  `{spec: {terminationGracePeriodSeconds: -1}}`,
			new:  `{spec: {terminationGracePeriodSeconds: 1}}`,
		},
		"service cluster IP": {
			kind: &corev1.Service{},
			old:  `{spec: {type: ClusterIP, clusterIP: 10.96.0.7}}`,
			new:  `{spec: {type: ClusterIP, clusterIP: 10.96.0.8}}`,
			want: []string{`spec.clusterIP: Invalid value: "10.96.0.8": field is immutable`},
		},
		"service changes to ExternalName": {
			kind: &corev1.Service{},
			old:  `{spec: {type: ClusterIP, clusterIP: 10.96.0.7}}`,
			new:  `{spec: {type: ExternalName, externalName: example.org}}`,
		},
		"secret type": {
			kind: &corev1.Secret{},
			old:  `{type: Opaque}`,
			new:  `{type: kubernetes.io/tls}`,
			want: []string{`type: Invalid value: "kubernetes.io/tls": field is immutable`},
		},
		"claim expanded and bound": {
			kind: &corev1.PersistentVolumeClaim{},
			old:  `{spec: {resources: {requests: {storage: 1Gi}}}}`,
			new:  `{spec: {volumeName: v, storageClassName: s, resources: {requests: {storage: 2Gi}}}}`,
		},
		"claim that is not bound": {
			kind: &corev1.PersistentVolumeClaim{},
			old:  `{metadata: {uid: u}, spec: {resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}`,
			new:  `{metadata: {uid: u}, spec: {volumeAttributesClassName: gold, resources: {requests: {storage: 2Gi}}}, status: {phase: Pending}}`,
			want: []string{
				`spec.resources.requests.storage: Invalid value: "2Gi": field is immutable`,
				`spec.volumeAttributesClassName: Invalid value: "gold": field is immutable`,
			},
		},
		"claim whose expansion failed": {
			kind: &corev1.PersistentVolumeClaim{},
			old:  `{metadata: {uid: u}, spec: {resources: {requests: {storage: 9Gi}}}, status: {phase: Bound, capacity: {storage: 1Gi}}}`,
			new:  `{metadata: {uid: u}, spec: {resources: {requests: {storage: 2Gi}}}, status: {phase: Bound, capacity: {storage: 1Gi}}}`,
		},
		"claim shrunk and bound to another volume": {
			kind: &corev1.PersistentVolumeClaim{},
			old:  `{spec: {accessModes: [ReadWriteOnce], volumeName: v, resources: {requests: {storage: 2Gi}}}}`,
			new:  `{spec: {accessModes: [ReadWriteMany], volumeName: w, resources: {requests: {storage: 1Gi}}}}`,
			want: []string{
				`spec.accessModes[0]: Invalid value: "ReadWriteMany": field is immutable`,
				`spec.resources.requests.storage: Invalid value: "1Gi": field is immutable`,
				`spec.volumeName: Invalid value: "w": field is immutable`,
			},
		},
		"volume source": {
			kind: &corev1.PersistentVolume{},
			old:  `{spec: {capacity: {storage: 1Gi}, hostPath: {path: /a}}}`,
			new:  `{spec: {capacity: {storage: 2Gi}, hostPath: {path: /b}}}`,
			want: []string{`spec.hostPath: Invalid value: {"path":"/b"}: field is immutable`},
		},
		"volume source of another type": {
			kind: &corev1.PersistentVolume{},
			old:  `{spec: {hostPath: {path: /a}}}`,
			new:  `{spec: {nfs: {path: /a, server: s}}}`,
			want: []string{
				`spec.hostPath: Invalid value: null: field is immutable`,
				`spec.nfs: Invalid value: {"path":"/a","server":"s"}: field is immutable`,
			},
		},
		"volume expand secret": {
			kind: &corev1.PersistentVolume{},
			old:  `{spec: {csi: {driver: d, volumeHandle: h}}}`,
			new:  `{spec: {csi: {driver: d, volumeHandle: h, controllerExpandSecretRef: {name: s}}}}`,
		},
		"immutable config map": {
			kind: &corev1.ConfigMap{},
			old:  `{immutable: true, data: {a: b}, binaryData: {c: ZA==}}`,
			new:  `{data: {a: c}, binaryData: {c: ZQ==}}`,
			want: []string{
				"immutable: Forbidden: field is immutable when `immutable` is set",
				"data: Forbidden: field is immutable when `immutable` is set",
				"binaryData: Forbidden: field is immutable when `immutable` is set",
			},
		},
		"immutable config map, metadata and empty maps": {
			kind: &corev1.ConfigMap{},
			old:  `{immutable: true}`,
			new:  `{immutable: true, metadata: {labels: {a: b}}, data: {}, binaryData: {}}`,
		},
		"config map becomes immutable with new data": {
			kind: &corev1.ConfigMap{},
			old:  `{immutable: false, data: {a: b}}`,
			new:  `{immutable: true, data: {a: c}}`,
		},
		"immutable secret": {
			kind: &corev1.Secret{},
			old:  `{immutable: true, data: {a: YQ==}}`,
			new:  `{immutable: false, data: {a: Yg==}}`,
			want: []string{
				"immutable: Forbidden: field is immutable when `immutable` is set",
				"data: Forbidden: field is immutable when `immutable` is set",
			},
		},
	})
}

package frozen_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/native/frozen"
)

// TestCheck checks updates that change frozen fields, and updates that exceptions allow. Each
// object must also accept an update without changes.
func TestCheck(t *testing.T) {
	cases := map[string]struct {
		kind     runtime.Object
		old, new string
		want     []string
	}{
		"deployment selector": {
			kind: &appsv1.Deployment{},
			old:  `{spec: {selector: {matchLabels: {a: b}}}}`,
			new:  `{spec: {selector: {matchLabels: {a: c}}}}`,
			want: []string{`spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`},
		},
		"deployment replicas and template": {
			kind: &appsv1.Deployment{},
			old:  `{spec: {replicas: 1, template: {metadata: {labels: {a: b}}}}}`,
			new:  `{spec: {replicas: 2, template: {metadata: {labels: {a: c}}}}}`,
		},
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
		"replica set selector": {
			kind: &appsv1.ReplicaSet{},
			old:  `{spec: {selector: {matchLabels: {a: b}}}}`,
			new:  `{spec: {selector: {matchLabels: {a: b, c: d}}}}`,
			want: []string{`spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable`},
		},
		"daemon set selector": {
			kind: &appsv1.DaemonSet{},
			old:  `{spec: {selector: {matchLabels: {a: b}}}}`,
			new:  `{spec: {}}`,
			want: []string{`spec.selector: Invalid value: null: field is immutable`},
		},
		"stateful set": {
			kind: &appsv1.StatefulSet{},
			old: `{spec: {replicas: 1, serviceName: a, podManagementPolicy: Parallel, selector: {matchLabels: {a: b}}, ` +
				`volumeClaimTemplates: [{metadata: {name: d}}]}}`,
			new: `{spec: {replicas: 2, serviceName: b, podManagementPolicy: OrderedReady, ` +
				`selector: {matchLabels: {a: c}}, volumeClaimTemplates: [{metadata: {name: e}}]}}`,
			want: []string{
				`spec.podManagementPolicy: Invalid value: "OrderedReady": field is immutable`,
				`spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`,
				`spec.serviceName: Invalid value: "b": field is immutable`,
				`spec.volumeClaimTemplates: Invalid value: [{"metadata":{"name":"e"},"spec":{"resources":{}},"status":{}}]: field is immutable`,
			},
		},
		"controller revision data": {
			kind: &appsv1.ControllerRevision{},
			old:  `{revision: 1, data: {a: 1}}`,
			new:  `{revision: 2, data: {a: 2}}`,
			want: []string{`data: Invalid value: {"a":2}: field is immutable`},
		},
		"job template": {
			kind: &batchv1.Job{},
			old:  `{spec: {template: {spec: {nodeSelector: {a: b}}}}}`,
			new:  `{spec: {template: {spec: {nodeSelector: {a: c}}}}}`,
			want: []string{`spec.template: Invalid value: {"metadata":{},"spec":{"containers":null,"nodeSelector":{"a":"c"}}}: field is immutable`},
		},
		"job template while suspended": {
			kind: &batchv1.Job{},
			old:  `{spec: {suspend: true, template: {spec: {nodeSelector: {a: b}}}}}`,
			new:  `{spec: {suspend: false, template: {spec: {nodeSelector: {a: c}}}}}`,
		},
		"job selector stays while suspended": {
			kind: &batchv1.Job{},
			old:  `{spec: {suspend: true, selector: {matchLabels: {a: b}}}}`,
			new:  `{spec: {suspend: true, selector: {matchLabels: {a: c}}}}`,
			want: []string{`spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`},
		},
		"job completions": {
			kind: &batchv1.Job{},
			old:  `{spec: {completions: 1, parallelism: 1}}`,
			new:  `{spec: {completions: 2, parallelism: 2}}`,
			want: []string{`spec.completions: Invalid value: 2: field is immutable`},
		},
		"indexed job scaled": {
			kind: &batchv1.Job{},
			old:  `{spec: {completions: 1, parallelism: 1, completionMode: Indexed}}`,
			new:  `{spec: {completions: 2, parallelism: 2, completionMode: Indexed}}`,
		},
		"pod image, tolerations added, gate removed, deadline set": {
			kind: &corev1.Pod{},
			old:  `{spec: {containers: [{name: a, image: x}], schedulingGates: [{name: g}], tolerations: [{key: a}]}}`,
			new:  `{spec: {containers: [{name: a, image: y}], activeDeadlineSeconds: 5, tolerations: [{key: b}, {key: a}]}}`,
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
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			oldObj, newObj := c.kind, c.kind.DeepCopyObject()
			for text, obj := range map[string]runtime.Object{c.old: oldObj, c.new: newObj} {
				if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, err := range frozen.Check(newObj, oldObj) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if errs := frozen.Check(oldObj, oldObj.DeepCopyObject()); len(errs) > 0 {
				t.Errorf("an unchanged object: %v", errs)
			}
		})
	}
}

// BenchmarkCheckDeployment checks a new image in a small Deployment.
func BenchmarkCheckDeployment(b *testing.B) {
	const manifest = `
spec:
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - {name: a, image: x, env: [{name: A, value: b}], resources: {limits: {cpu: "1", memory: 1Gi}}}
`
	deployment := &appsv1.Deployment{}
	if err := yaml.Unmarshal([]byte(manifest), deployment); err != nil {
		b.Fatal(err)
	}
	changed := deployment.DeepCopy()
	changed.Spec.Template.Spec.Containers[0].Image = "y"
	b.ReportAllocs()
	for b.Loop() {
		if errs := frozen.Check(changed, deployment); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// TestCanReject checks for which objects an update could be rejected.
func TestCanReject(t *testing.T) {
	immutable := true
	tests := map[string]struct {
		object runtime.Object
		want   bool
	}{
		"stateful set":         {&appsv1.StatefulSet{}, true},
		"secret":               {&corev1.Secret{}, true},
		"config map":           {&corev1.ConfigMap{}, false},
		"immutable config map": {&corev1.ConfigMap{Immutable: &immutable}, true},
		"service account":      {&corev1.ServiceAccount{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := frozen.CanReject(test.object); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

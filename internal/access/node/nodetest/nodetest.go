// Package nodetest has pods, volumes and users for the tests of what a node may do.
package nodetest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/yamltest"
)

const pods = `
- metadata: {name: web, namespace: a, uid: web-uid}
  spec:
    nodeName: n1
    serviceAccountName: robot
    imagePullSecrets: [{name: pull}]
    resourceClaims: [{name: gpu, resourceClaimName: gpu}, {name: other, resourceClaimTemplateName: t}]
    volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {}}}}
    - {name: v1, configMap: {name: cm-volume}}
    - {name: v2, secret: {secretName: s-volume}}
    - name: v3
      projected:
        sources:
        - {configMap: {name: cm-projected}}
        - {secret: {name: s-projected}}
        - {serviceAccountToken: {path: t, audience: vault}}
    - {name: v4, azureFile: {secretName: s-azure, shareName: x}}
    - {name: v5, csi: {driver: d, nodePublishSecretRef: {name: s-csi}}}
    - {name: v6, cephfs: {monitors: [m], secretRef: {name: s-ceph}}}
    - {name: v7, cinder: {volumeID: v, secretRef: {name: s-cinder}}}
    - {name: v8, flexVolume: {driver: d, secretRef: {name: s-flex}}}
    - {name: v9, iscsi: {targetPortal: t, iqn: i, lun: 0, secretRef: {name: s-iscsi}}}
    - {name: v10, rbd: {monitors: [m], image: i, secretRef: {name: s-rbd}}}
    - {name: v11, scaleIO: {gateway: g, system: s, secretRef: {name: s-scaleio}}}
    - {name: v12, storageos: {secretRef: {name: s-storageos}}}
    - {name: v13, emptyDir: {}}
    initContainers:
    - {name: i, env: [{name: A, valueFrom: {configMapKeyRef: {name: cm-init, key: k}}}]}
    containers:
    - name: c
      env:
      - {name: A, value: x}
      - {name: B, valueFrom: {secretKeyRef: {name: s-env, key: k}}}
      - {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
      envFrom: [{configMapRef: {name: cm-from}}, {secretRef: {name: s-from}}]
    ephemeralContainers:
    - {name: e, envFrom: [{secretRef: {name: s-ephemeral}}]}
  status: {resourceClaimStatuses: [{name: other, resourceClaimName: web-generated}]}
- metadata: {name: other, namespace: a}
  spec:
    nodeName: n2
    serviceAccountName: theirs
    volumes: [{name: v, secret: {secretName: s-theirs}}, {name: w, secret: {secretName: s-shared}}]
- metadata: {name: shares, namespace: a}
  spec: {nodeName: n1, volumes: [{name: w, secret: {secretName: s-shared}}]}
- metadata: {name: waiting, namespace: a}
  spec: {volumes: [{name: v, secret: {secretName: s-waiting}}]}
`

// Pods returns pods of the nodes n1 and n2, and one without a node. The first one uses objects in every way that a pod can.
func Pods(t testing.TB) []*corev1.Pod {
	t.Helper()
	return *yamltest.Decode[[]*corev1.Pod](t, pods)
}

// Relations returns the relations of some volumes, attachments, slices and drivers.
func Relations(t testing.TB) *node.Relations {
	t.Helper()
	slice := func(name, nodeName string) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{NodeName: &nodeName}}
	}
	attachment := func(name, nodeName string) *storagev1.VolumeAttachment {
		out := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		out.Spec.NodeName = nodeName
		return out
	}
	bound := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "bound"}}
	bound.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "a", Name: "data"}
	bound.Spec.CSI = &corev1.CSIPersistentVolumeSource{
		Driver:                     "csi.example.com",
		NodeStageSecretRef:         &corev1.SecretReference{Namespace: "vault", Name: "stage"},
		ControllerPublishSecretRef: &corev1.SecretReference{Namespace: "vault", Name: "controller"},
	}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}}
	driver.Spec.TokenRequests = []storagev1.TokenRequest{{Audience: "storage"}}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(
		bound, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "free"}}, driver,
		attachment("attached", "n1"), attachment("theirs", "n2"), slice("own", "n1"), slice("theirs", "n2"),
	), 0)
	relations, err := node.NewRelations(factory)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return relations
}

// User returns the user of a node.
func User(name string) user.Info {
	return &user.DefaultInfo{Name: node.UserPrefix + name, Groups: []string{user.NodesGroup, user.AllAuthenticated}}
}

package volume_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/admission/volume"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

func TestUses(t *testing.T) {
	const owned = `{metadata: {name: p-v, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}]}}`
	tests := map[string]struct {
		pod, claim string
		want       bool
		wantClaims []string
	}{
		"no volume": {pod: `{nodeName: host}`, claim: `{metadata: {name: c}}`},
		"claim": {
			pod: `{nodeName: host, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}`, claim: `{metadata: {name: c}}`,
			want: true, wantClaims: []string{"c"},
		},
		"other claim": {
			pod: `{nodeName: host, volumes: [{name: v, persistentVolumeClaim: {claimName: d}}]}`, claim: `{metadata: {name: c}}`,
			wantClaims: []string{"d"},
		},
		"not bound to a node": {
			pod: `{volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}`, claim: `{metadata: {name: c}}`,
			wantClaims: []string{"c"},
		},
		"ephemeral": {
			pod: `{nodeName: host, volumes: [{name: v, ephemeral: {}}]}`, claim: owned,
			want: true, wantClaims: []string{"p-v"},
		},
		"ephemeral, claim of another owner": {
			pod: `{nodeName: host, volumes: [{name: v, ephemeral: {}}]}`, claim: `{metadata: {name: p-v}}`,
			wantClaims: []string{"p-v"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}, Spec: *yamltest.Decode[corev1.PodSpec](t, test.pod)}
			if got := volume.Uses(pod, yamltest.Decode[corev1.PersistentVolumeClaim](t, test.claim)); got != test.want {
				t.Errorf("uses: %t, want %t", got, test.want)
			}
			if diff := cmp.Diff(test.wantClaims, volume.Claims(pod)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

// A stopped pod uses the claims that it names, but not those of its ephemeral volumes.
func TestStoppedPod(t *testing.T) {
	now, zero := metav1.Now(), int64(0)
	pod := yamltest.Decode[corev1.Pod](t, `{metadata: {name: p, uid: u}, spec: {nodeName: host, volumes: [
		{name: v, ephemeral: {}}, {name: w, persistentVolumeClaim: {claimName: c}}]}}`)
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &zero
	own := yamltest.Decode[corev1.PersistentVolumeClaim](t,
		`{metadata: {name: p-v, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}]}}`)
	if volume.Uses(pod, own) {
		t.Error("the pod uses the claim of its ephemeral volume")
	}
	if !volume.Uses(pod, yamltest.Decode[corev1.PersistentVolumeClaim](t, `{metadata: {name: c}}`)) {
		t.Error("the pod does not use its claim")
	}
}

// A claim grows if it is bound and its class allows it.
func TestResize(t *testing.T) {
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	for _, class := range []string{
		`{metadata: {name: elastic}, provisioner: example.com/p, allowVolumeExpansion: true}`,
		`{metadata: {name: fixed}, provisioner: example.com/p}`,
	} {
		created := yamltest.Decode[storagev1.StorageClass](t, class)
		if _, err := client.StorageV1().StorageClasses().Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const fixed = `persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized and ` +
		`the storageclass that provisions the pvc must support resize`
	tests := map[string]struct{ class, phase, size, want string }{
		"bound":     {class: "elastic", phase: "Bound", size: "2Gi"},
		"same size": {class: "fixed", phase: "Pending", size: "1Gi"},
		// Validation refuses it, as in Kubernetes, before the plugin does.
		"not bound": {
			class: "elastic", phase: "Pending", size: "2Gi",
			want: `PersistentVolumeClaim "c" is invalid: spec.resources.requests.storage: Invalid value: "2Gi": field is immutable`,
		},
		"class does not allow": {class: "fixed", phase: "Bound", size: "2Gi", want: fixed},
		"class is missing":     {class: "gone", phase: "Bound", size: "2Gi", want: fixed},
		"no class":             {class: `""`, phase: "Bound", size: "2Gi", want: fixed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := newNamespace(t, client)
			claims := client.CoreV1().PersistentVolumeClaims(namespace)
			claim := yamltest.Decode[corev1.PersistentVolumeClaim](t, `{metadata: {name: c}, spec: {storageClassName: `+test.class+`,
				accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
			if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			phase := []byte(`{"status":{"phase":"` + test.phase + `"}}`)
			if _, err := claims.Patch(t.Context(), "c", types.MergePatchType, phase, metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(err)
			}
			size := []byte(`{"spec":{"resources":{"requests":{"storage":"` + test.size + `"}}}}`)
			_, err := claims.Patch(t.Context(), "c", types.MergePatchType, size, metav1.PatchOptions{})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error %q\nwant  %q", got, test.want)
			}
		})
	}
}

func newNamespace(t testing.TB, client kubernetes.Interface) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "volumes-"}}
	created, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.Name
}

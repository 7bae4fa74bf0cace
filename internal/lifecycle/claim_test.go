package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/admission/volume"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

func (c cluster) createClaim(t testing.TB, namespace, name string) {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"example.com/first"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
	if _, err := c.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// createPodWithClaim creates a pod that uses a claim.
func (c cluster) createPodWithClaim(t testing.TB, namespace, name, node, claim string) {
	t.Helper()
	c.createPod(t, namespace, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName:   node,
		Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}},
	}})
}

// finalizers returns the finalizers of a claim.
func (c cluster) finalizers(t testing.TB, namespace, name string) []string {
	t.Helper()
	claim, err := c.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if notFound(t, err) {
		return nil
	}
	return claim.Finalizers
}

// A deleted claim keeps the finalizer until the last pod that uses it is gone. The
// controller leaves finalizers of others alone.
func TestClaimInUse(t *testing.T) {
	t.Parallel()
	c := startWithControllers(t)
	const namespace = metav1.NamespaceDefault
	claims, pods := c.CoreV1().PersistentVolumeClaims(namespace), c.CoreV1().Pods(namespace)
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	both := []string{"example.com/first", volume.ClaimFinalizer}
	for _, name := range []string{"used", "free"} {
		c.createClaim(t, namespace, name)
		if got := c.finalizers(t, namespace, name); !slices.Equal(got, both) {
			t.Fatalf("finalizers of a new claim: %v, want %v", got, both)
		}
	}
	c.createNode(t, "node", time.Now()) // a controller deletes the pods of a node that does not exist
	c.createPodWithClaim(t, namespace, "first", "node", "used")
	c.createPodWithClaim(t, namespace, "second", "node", "used")
	c.createPodWithClaim(t, namespace, "waiting", "", "free")
	for _, name := range []string{"used", "free"} {
		if err := claims.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	released := func(name string) func() bool {
		return func() bool { return slices.Equal(c.finalizers(t, namespace, name), both[:1]) }
	}
	waittest.Until(t, "the claim without a running pod is released", released("free"))
	if err := pods.Delete(t.Context(), "first", now); err != nil {
		t.Fatal(err)
	}
	// This gives the controller the time to make a mistake with the claim of the deleted pod.
	c.createClaim(t, namespace, "later")
	if err := claims.Delete(t.Context(), "later", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the later claim is released", released("later"))
	if got := c.finalizers(t, namespace, "used"); !slices.Equal(got, both) {
		t.Errorf("finalizers of a claim in use: %v, want %v", got, both)
	}
	if err := pods.Delete(t.Context(), "second", now); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the claim is released", released("used"))
}

// A deleted volume keeps the finalizer while it is bound.
func TestVolumeInUse(t *testing.T) {
	t.Parallel()
	c := startWithControllers(t)
	volumes := c.CoreV1().PersistentVolumes()
	for name, phase := range map[string]corev1.PersistentVolumePhase{"bound": corev1.VolumeBound, "free": corev1.VolumeAvailable} {
		created := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/data"},
			},
		}}
		if _, err := volumes.Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		patch := []byte(`{"status":{"phase":"` + string(phase) + `"}}`)
		if _, err := volumes.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		if err := volumes.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(name string) func() bool {
		return func() bool {
			_, err := volumes.Get(t.Context(), name, metav1.GetOptions{})
			return notFound(t, err)
		}
	}
	waittest.Until(t, "the free volume is gone", gone("free"))
	if found, err := volumes.Get(t.Context(), "bound", metav1.GetOptions{}); err != nil || found.DeletionTimestamp == nil {
		t.Fatalf("bound volume: %v, %v", found, err)
	}
	patch := []byte(`{"status":{"phase":"Released"}}`)
	if _, err := volumes.Patch(t.Context(), "bound", types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the released volume is gone", gone("bound"))
}

// The controller adds the finalizer to claims that a server without the plugin stored, if
// volumes are to be protected. It removes finalizers in any case.
func TestClaimWithoutFinalizer(t *testing.T) {
	t.Parallel()
	for name, protect := range map[string]bool{"protect": true, "release only": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startWithout(t)
			claims := c.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
			for _, name := range []string{"old", "deleted"} {
				c.createClaim(t, metav1.NamespaceDefault, name)
			}
			patch := []byte(`{"metadata":{"finalizers":["example.com/first"]}}`)
			if _, err := claims.Patch(t.Context(), "old", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := claims.Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			startLeading(t, lifecycle.Config{Client: c.Config, ProtectVolumes: protect})
			waittest.Until(t, "the deleted claim is released", func() bool {
				return slices.Equal(c.finalizers(t, metav1.NamespaceDefault, "deleted"), []string{"example.com/first"})
			})
			if !protect {
				if got := c.finalizers(t, metav1.NamespaceDefault, "old"); len(got) != 1 {
					t.Errorf("finalizers: %v", got)
				}
				return
			}
			waittest.Until(t, "the claim is protected", func() bool {
				return slices.Contains(c.finalizers(t, metav1.NamespaceDefault, "old"), volume.ClaimFinalizer)
			})
		})
	}
}

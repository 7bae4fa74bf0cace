package lifecycle_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/admission/volume"
	"holdfast.dev/holdfast/internal/waittest"
)

// A deleted VolumeAttributesClass stays until no claim names it.
func TestAttributesClassInUse(t *testing.T) {
	t.Parallel()
	c := startWithControllers(t)
	classes, claims := c.StorageV1().VolumeAttributesClasses(), c.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	for _, name := range []string{"used", "free"} {
		class := &storagev1.VolumeAttributesClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, DriverName: "csi.example.com", Parameters: map[string]string{"iops": "4000"},
		}
		created, err := classes.Create(t.Context(), class, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(created.Finalizers, []string{volume.AttributesClassFinalizer}) {
			t.Errorf("finalizers of a new class: %v", created.Finalizers)
		}
	}
	used := "used"
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeAttributesClassName: &used,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	isGone := func(name string) func() bool {
		return func() bool {
			_, err := classes.Get(t.Context(), name, metav1.GetOptions{})
			return notFound(t, err)
		}
	}
	for _, name := range []string{"used", "free"} {
		if err := classes.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "the class that no claim names is gone", isGone("free"))
	if isGone("used")() {
		t.Error("a class that a claim names is gone")
	}
	if err := claims.Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the class is gone after its last claim", isGone("used"))
}

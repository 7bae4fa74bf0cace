package volume

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// Finalizers of Kubernetes.
const (
	// ClaimFinalizer keeps a PersistentVolumeClaim while a pod uses it.
	ClaimFinalizer = "kubernetes.io/pvc-protection"
	// VolumeFinalizer keeps a PersistentVolume while it is bound to a claim.
	VolumeFinalizer = "kubernetes.io/pv-protection"
	// AttributesClassFinalizer keeps a VolumeAttributesClass while a claim or a volume names it.
	AttributesClassFinalizer = "kubernetes.io/vac-protection"
)

// Protection is the admission plugin StorageObjectInUseProtection.
type Protection struct{ *admission.Handler }

var _ admission.MutationInterface = Protection{}

// NewProtection returns the plugin.
func NewProtection() Protection { return Protection{admission.NewHandler(admission.Create)} }

// Admit implements admission.MutationInterface.
func (Protection) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" {
		return nil
	}
	switch obj := a.GetObject().(type) {
	case *corev1.PersistentVolumeClaim:
		addFinalizer(obj, ClaimFinalizer)
	case *corev1.PersistentVolume:
		addFinalizer(obj, VolumeFinalizer)
	case *storagev1.VolumeAttributesClass:
		addFinalizer(obj, AttributesClassFinalizer)
	}
	return nil
}

func addFinalizer(obj metav1.Object, finalizer string) {
	if !slices.Contains(obj.GetFinalizers(), finalizer) {
		obj.SetFinalizers(append(obj.GetFinalizers(), finalizer))
	}
}

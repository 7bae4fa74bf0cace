package columns

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	volumeSpec   = corev1.PersistentVolumeSpec{}.SwaggerDoc()
	volumeStatus = corev1.PersistentVolumeStatus{}.SwaggerDoc()
	claimSpec    = corev1.PersistentVolumeClaimSpec{}.SwaggerDoc()
	claimStatus  = corev1.PersistentVolumeClaimStatus{}.SwaggerDoc()
)

var persistentVolumes = table(name,
	text("Capacity", volumeSpec["capacity"], func(pv *corev1.PersistentVolume) string { return storage(pv.Spec.Capacity) }),
	text("Access Modes", volumeSpec["accessModes"], func(pv *corev1.PersistentVolume) string {
		return accessModes(pv.Spec.AccessModes)
	}),
	text("Reclaim Policy", volumeSpec["persistentVolumeReclaimPolicy"], func(pv *corev1.PersistentVolume) string {
		return string(pv.Spec.PersistentVolumeReclaimPolicy)
	}),
	text("Status", volumeStatus["phase"], func(pv *corev1.PersistentVolume) string {
		return phase(pv.ObjectMeta, string(pv.Status.Phase))
	}),
	text("Claim", volumeSpec["claimRef"], func(pv *corev1.PersistentVolume) string {
		if pv.Spec.ClaimRef == nil {
			return ""
		}
		return pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name
	}),
	text("StorageClass", "The class of storage that the volume is of", func(pv *corev1.PersistentVolume) string {
		return storageClassOf(pv.ObjectMeta, pv.Spec.StorageClassName)
	}),
	text("VolumeAttributesClass", "The class of attributes that the volume has", func(pv *corev1.PersistentVolume) string {
		return valueOr(pv.Spec.VolumeAttributesClassName, unset)
	}),
	text("Reason", volumeStatus["reason"], func(pv *corev1.PersistentVolume) string { return pv.Status.Reason }),
	age,
	text("VolumeMode", volumeSpec["volumeMode"], func(pv *corev1.PersistentVolume) string {
		return valueOr(pv.Spec.VolumeMode, unset)
	}).wide())

// persistentVolumeClaims prints the capacity and access modes in the status of a claim. Both
// columns are empty until spec.volumeName is set.
var persistentVolumeClaims = table(name,
	text("Status", claimStatus["phase"], func(pvc *corev1.PersistentVolumeClaim) string {
		return phase(pvc.ObjectMeta, string(pvc.Status.Phase))
	}),
	text("Volume", claimSpec["volumeName"], func(pvc *corev1.PersistentVolumeClaim) string { return pvc.Spec.VolumeName }),
	text("Capacity", claimStatus["capacity"], func(pvc *corev1.PersistentVolumeClaim) string {
		if pvc.Spec.VolumeName == "" {
			return ""
		}
		return storage(pvc.Status.Capacity)
	}),
	text("Access Modes", claimStatus["accessModes"], func(pvc *corev1.PersistentVolumeClaim) string {
		if pvc.Spec.VolumeName == "" {
			return ""
		}
		return accessModes(pvc.Status.AccessModes)
	}),
	text("StorageClass", "The class of storage that is claimed", func(pvc *corev1.PersistentVolumeClaim) string {
		return storageClassOf(pvc.ObjectMeta, deref(pvc.Spec.StorageClassName))
	}),
	text("VolumeAttributesClass", "The class of attributes that is claimed", func(pvc *corev1.PersistentVolumeClaim) string {
		return valueOr(pvc.Spec.VolumeAttributesClassName, unset)
	}),
	age,
	text("VolumeMode", claimSpec["volumeMode"], func(pvc *corev1.PersistentVolumeClaim) string {
		return valueOr(pvc.Spec.VolumeMode, unset)
	}).wide())

func phase(m metav1.ObjectMeta, current string) string {
	if m.DeletionTimestamp != nil {
		return "Terminating"
	}
	return current
}

func storage(list corev1.ResourceList) string {
	amount := list[corev1.ResourceStorage]
	return amount.String()
}

// accessModes returns the short names of access modes in a fixed order.
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, m := range []struct {
		mode corev1.PersistentVolumeAccessMode
		name string
	}{
		{corev1.ReadWriteOnce, "RWO"},
		{corev1.ReadOnlyMany, "ROX"},
		{corev1.ReadWriteMany, "RWX"},
		{corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, m.mode) {
			short = append(short, m.name)
		}
	}
	return strings.Join(short, ",")
}

// storageClassOf returns the storage class. The old beta annotation takes precedence over the field.
func storageClassOf(m metav1.ObjectMeta, class string) string {
	if old, ok := m.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return old
	}
	return class
}

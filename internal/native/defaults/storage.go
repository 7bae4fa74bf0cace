package defaults

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
)

func storageClass(c *storagev1.StorageClass) {
	setDefaultPtr(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	setDefaultPtr(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

func priorityClass(c *schedulingv1.PriorityClass) {
	setDefaultPtr(&c.PreemptionPolicy, corev1.PreemptLowerPriority)
}

func volumeAttachment(a *storagev1.VolumeAttachment) {
	if spec := a.Spec.Source.InlineVolumeSpec; spec != nil {
		volumeSource(spec)
	}
}

func csiDriver(d *storagev1.CSIDriver) {
	setDefaultPtr(&d.Spec.AttachRequired, true)
	setDefaultPtr(&d.Spec.PodInfoOnMount, false)
	setDefaultPtr(&d.Spec.StorageCapacity, false)
	setDefaultPtr(&d.Spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(d.Spec.VolumeLifecycleModes) == 0 {
		d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
	setDefaultPtr(&d.Spec.RequiresRepublish, false)
	setDefaultPtr(&d.Spec.SELinuxMount, false)
	setDefaultPtr(&d.Spec.PreventPodSchedulingIfMissing, false)
}

package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// certificateLifetime is the default maximal lifetime of a projected pod certificate, in seconds.
const certificateLifetime = 24 * 60 * 60

// tokenLifetime is the default lifetime of a projected service account token, in seconds.
const tokenLifetime = 60 * 60

func volume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if v.Secret != nil {
		setDefaultPtr(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		setDefaultPtr(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		setDefaultPtr(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		forEach(v.DownwardAPI.Items, downwardFile)
	}
	if v.Projected != nil {
		setDefaultPtr(&v.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		forEach(v.Projected.Sources, projection)
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		claimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
	}
	if v.Image != nil {
		setDefault(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	}
	if v.RBD != nil {
		rbd(&v.RBD.RBDPool, &v.RBD.RadosUser, &v.RBD.Keyring)
	}
	if v.ISCSI != nil {
		setDefault(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.ScaleIO != nil {
		scaleIO(&v.ScaleIO.StorageMode, &v.ScaleIO.FSType)
	}
	hostPath(v.HostPath)
	azureDisk(v.AzureDisk)
}

func projection(p *corev1.VolumeProjection) {
	if p.DownwardAPI != nil {
		forEach(p.DownwardAPI.Items, downwardFile)
	}
	if p.ServiceAccountToken != nil {
		setDefaultPtr(&p.ServiceAccountToken.ExpirationSeconds, tokenLifetime)
	}
	if p.PodCertificate != nil {
		setDefaultPtr(&p.PodCertificate.MaxExpirationSeconds, certificateLifetime)
	}
}

func downwardFile(f *corev1.DownwardAPIVolumeFile) {
	fieldRef(f.FieldRef)
}

func hostPath(h *corev1.HostPathVolumeSource) {
	if h != nil {
		setDefaultPtr(&h.Type, corev1.HostPathUnset)
	}
}

func azureDisk(d *corev1.AzureDiskVolumeSource) {
	if d == nil {
		return
	}
	setDefaultPtr(&d.CachingMode, corev1.AzureDataDiskCachingReadWrite)
	setDefaultPtr(&d.Kind, corev1.AzureSharedBlobDisk)
	setDefaultPtr(&d.FSType, "ext4")
	setDefaultPtr(&d.ReadOnly, false)
}

// rbd has the fields as parameters, because pods and persistent volumes have different Go types for RBD sources.
func rbd(pool, user, keyring *string) {
	setDefault(pool, "rbd")
	setDefault(user, "admin")
	setDefault(keyring, "/etc/ceph/keyring")
}

func scaleIO(storageMode, fsType *string) {
	setDefault(storageMode, "ThinProvisioned")
	setDefault(fsType, "xfs")
}

func persistentVolume(pv *corev1.PersistentVolume) {
	setDefault(&pv.Status.Phase, corev1.VolumePending)
	s := &pv.Spec
	setDefault(&s.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	setDefaultPtr(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
	volumeSource(s)
}

// volumeSource sets the defaults that a PersistentVolume and the volume of a VolumeAttachment share.
func volumeSource(s *corev1.PersistentVolumeSpec) {
	roundUp(s.Capacity)
	if s.RBD != nil {
		rbd(&s.RBD.RBDPool, &s.RBD.RadosUser, &s.RBD.Keyring)
	}
	if s.ISCSI != nil {
		setDefault(&s.ISCSI.ISCSIInterface, "default")
	}
	if s.ScaleIO != nil {
		scaleIO(&s.ScaleIO.StorageMode, &s.ScaleIO.FSType)
	}
	hostPath(s.HostPath)
	azureDisk(s.AzureDisk)
}

// persistentVolumeClaim sets the defaults of claims and of the claim templates of StatefulSets.
func persistentVolumeClaim(pvc *corev1.PersistentVolumeClaim) {
	setDefault(&pvc.Status.Phase, corev1.ClaimPending)
	claimSpec(&pvc.Spec)
	roundUp(pvc.Status.Capacity)
	roundUp(pvc.Status.AllocatedResources)
}

func claimSpec(s *corev1.PersistentVolumeClaimSpec) {
	setDefaultPtr(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(s.Resources.Limits)
	roundUp(s.Resources.Requests)
}

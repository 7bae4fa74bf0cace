package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// certificateLifetime is how long a projected pod certificate may live when the pod does not say, in seconds.
const certificateLifetime = 24 * 60 * 60

// tokenLifetime is how long a projected service account token lives when the pod does not say, in seconds.
const tokenLifetime = 60 * 60

func volume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if v.Secret != nil {
		fillPtr(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		fillPtr(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		fillPtr(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		each(v.DownwardAPI.Items, downwardFile)
	}
	if v.Projected != nil {
		fillPtr(&v.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		each(v.Projected.Sources, projection)
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		claimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
	}
	if v.Image != nil {
		fill(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	}
	if v.RBD != nil {
		rbd(&v.RBD.RBDPool, &v.RBD.RadosUser, &v.RBD.Keyring)
	}
	if v.ISCSI != nil {
		fill(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.ScaleIO != nil {
		scaleIO(&v.ScaleIO.StorageMode, &v.ScaleIO.FSType)
	}
	hostPath(v.HostPath)
	azureDisk(v.AzureDisk)
}

func projection(p *corev1.VolumeProjection) {
	if p.DownwardAPI != nil {
		each(p.DownwardAPI.Items, downwardFile)
	}
	if p.ServiceAccountToken != nil {
		fillPtr(&p.ServiceAccountToken.ExpirationSeconds, tokenLifetime)
	}
	if p.PodCertificate != nil {
		fillPtr(&p.PodCertificate.MaxExpirationSeconds, certificateLifetime)
	}
}

func downwardFile(f *corev1.DownwardAPIVolumeFile) {
	fieldRef(f.FieldRef)
}

func hostPath(h *corev1.HostPathVolumeSource) {
	if h != nil {
		fillPtr(&h.Type, corev1.HostPathUnset)
	}
}

func azureDisk(d *corev1.AzureDiskVolumeSource) {
	if d == nil {
		return
	}
	fillPtr(&d.CachingMode, corev1.AzureDataDiskCachingReadWrite)
	fillPtr(&d.Kind, corev1.AzureSharedBlobDisk)
	fillPtr(&d.FSType, "ext4")
	fillPtr(&d.ReadOnly, false)
}

// rbd takes fields because a pod's and a persistent volume's RBD source are two Go types with the same three defaults.
func rbd(pool, user, keyring *string) {
	fill(pool, "rbd")
	fill(user, "admin")
	fill(keyring, "/etc/ceph/keyring")
}

func scaleIO(storageMode, fsType *string) {
	fill(storageMode, "ThinProvisioned")
	fill(fsType, "xfs")
}

func persistentVolume(pv *corev1.PersistentVolume) {
	fill(&pv.Status.Phase, corev1.VolumePending)
	s := &pv.Spec
	fill(&s.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	fillPtr(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
	quantities(s.Capacity)
	if s.RBD != nil {
		rbd(&s.RBD.RBDPool, &s.RBD.RadosUser, &s.RBD.Keyring)
	}
	if s.ISCSI != nil {
		fill(&s.ISCSI.ISCSIInterface, "default")
	}
	if s.ScaleIO != nil {
		scaleIO(&s.ScaleIO.StorageMode, &s.ScaleIO.FSType)
	}
	hostPath(s.HostPath)
	azureDisk(s.AzureDisk)
}

// persistentVolumeClaim also says in both of its fields, the old and the new one, what the volume is filled from, unless
// that is in another namespace, which the old field cannot say.
func persistentVolumeClaim(pvc *corev1.PersistentVolumeClaim) {
	claim(pvc)
	s := &pvc.Spec
	switch from, ref := s.DataSource, s.DataSourceRef; {
	case from != nil && ref == nil:
		s.DataSourceRef = &corev1.TypedObjectReference{Kind: from.Kind, Name: from.Name}
		if from.APIGroup != nil {
			s.DataSourceRef.APIGroup = new(*from.APIGroup)
		}
	case ref != nil && from == nil && (ref.Namespace == nil || *ref.Namespace == ""):
		s.DataSource = &corev1.TypedLocalObjectReference{Kind: ref.Kind, Name: ref.Name}
		if ref.APIGroup != nil {
			s.DataSource.APIGroup = new(*ref.APIGroup)
		}
	}
}

// claim serves claims and the templates of claims in a StatefulSet.
func claim(pvc *corev1.PersistentVolumeClaim) {
	fill(&pvc.Status.Phase, corev1.ClaimPending)
	claimSpec(&pvc.Spec)
	quantities(pvc.Status.Capacity)
	quantities(pvc.Status.AllocatedResources)
}

func claimSpec(s *corev1.PersistentVolumeClaimSpec) {
	fillPtr(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
	quantities(s.Resources.Limits)
	quantities(s.Resources.Requests)
}

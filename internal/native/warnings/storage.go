package warnings

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const oldClassAnnotation = `deprecated since v1.8; use "storageClassName" attribute instead`

func (l *list) volume(v *corev1.PersistentVolume) {
	notes, path := field.NewPath("metadata", "annotations"), field.NewPath("spec")
	if _, ok := v.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		l.at(notes.Key(corev1.BetaStorageClassAnnotation), oldClassAnnotation)
	}
	if _, ok := v.Annotations[corev1.MountOptionAnnotation]; ok {
		l.at(notes.Key(corev1.MountOptionAnnotation), `deprecated since v1.31; use "mountOptions" attribute instead`)
	}
	if v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		l.at(path.Child("persistentVolumeReclaimPolicy"),
			"The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	if v.Spec.NodeAffinity != nil && v.Spec.NodeAffinity.Required != nil {
		l.nodeTerms(path.Child("nodeAffinity", "required", "nodeSelectorTerms"), v.Spec.NodeAffinity.Required.NodeSelectorTerms)
	}
	old := func(isSet bool, name, text string) {
		if isSet {
			l.at(path.Child(name), text)
		}
	}
	old(v.Spec.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+")
	old(v.Spec.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+")
	old(v.Spec.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+")
	old(v.Spec.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+")
	old(v.Spec.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+")
	old(v.Spec.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+")
}

func (l *list) claim(c *corev1.PersistentVolumeClaim) {
	if _, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		l.at(field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation), oldClassAnnotation)
	}
	l.claimSpec(field.NewPath("spec"), &c.Spec)
}

// claimSpec warns about sizes that are no integers.
func (l *list) claimSpec(path *field.Path, spec *corev1.PersistentVolumeClaimSpec) {
	l.fraction(path.Child("resources", "requests").Key(string(corev1.ResourceStorage)), spec.Resources.Requests[corev1.ResourceStorage])
	l.fraction(path.Child("resources", "limits").Key(string(corev1.ResourceStorage)), spec.Resources.Limits[corev1.ResourceStorage])
}

func (l *list) storageClass(c *storagev1.StorageClass) {
	for i := range c.AllowedTopologies {
		for j, expression := range c.AllowedTopologies[i].MatchLabelExpressions {
			if text, ok := oldNodeLabels[expression.Key]; ok {
				l.at(field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key"), text)
			}
		}
	}
}

func (l *list) storageCapacity(c *storagev1.CSIStorageCapacity) {
	if c.NodeTopology == nil {
		return
	}
	path := field.NewPath("nodeTopology")
	for i, expression := range c.NodeTopology.MatchExpressions {
		if text, ok := oldNodeLabels[expression.Key]; ok {
			l.at(path.Child("matchExpressions").Index(i).Child("key"), expression.Key+" is "+text)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.NodeTopology.MatchLabels)) {
		if text, ok := oldNodeLabels[key]; ok {
			l.at(path.Child("matchLabels", key), text)
		}
	}
}

func (l *list) csiDriver(d *storagev1.CSIDriver) {
	if len(d.Spec.TokenRequests) > 0 && d.Spec.ServiceAccountTokenInSecrets == nil {
		l.add("spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, " +
			"set to true to prevent possible logging of tokens in volume attributes")
	}
}

func sameTokenRequests(updated, old *storagev1.CSIDriver) bool {
	return apiequality.Semantic.DeepEqual(updated.Spec.TokenRequests, old.Spec.TokenRequests)
}

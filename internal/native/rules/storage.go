package rules

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func storageRules() []rule {
	return []rule{
		require[corev1.PersistentVolumeClaimSpec]("accessModes", "at least 1 access mode is required"),
		oneOf[corev1.PersistentVolumeClaimSpec]("accessModes"),
		onField[corev1.PersistentVolumeClaimSpec]("accessModes", accessModes),
		onField[corev1.PersistentVolumeClaimSpec]("storageClassName", dnsSubdomain),
		onField[corev1.PersistentVolumeClaimSpec]("volumeAttributesClassName", dnsSubdomain),
		onStruct(claimSize),
		onStruct(claimSource),

		require[corev1.PersistentVolumeSpec]("capacity", ""),
		onField[corev1.PersistentVolumeSpec]("capacity", capacity),
		require[corev1.PersistentVolumeSpec]("accessModes", ""),
		oneOf[corev1.PersistentVolumeSpec]("accessModes"),
		onField[corev1.PersistentVolumeSpec]("accessModes", accessModes),
		onField[corev1.PersistentVolumeSpec]("storageClassName", dnsSubdomain),
		onField[corev1.PersistentVolumeSpec]("volumeAttributesClassName", dnsSubdomain),
		onStruct(func(r *report, s *corev1.PersistentVolumeSource) { exactlyOneVolume(r, reflect.ValueOf(s).Elem()) }),
		onStruct(volumeSpec),
		onField[corev1.LocalVolumeSource]("path", noBacksteps),
		onField[corev1.CSIPersistentVolumeSource]("driver", csiDriver),
		onField[corev1.CSIVolumeSource]("driver", csiDriver),
		require[corev1.VolumeNodeAffinity]("required", "must specify required node constraints"),

		onField[storagev1.StorageClass]("provisioner", labelKeyLower),
		onField[storagev1.StorageClass]("allowedTopologies", topologies),
		oneOf[storagev1.StorageClass]("reclaimPolicy"),
		onField[storagev1.StorageClass]("reclaimPolicy", func(r *report, policy corev1.PersistentVolumeReclaimPolicy) {
			if supported := []string{"Delete", "Retain"}; policy != "" && !slices.Contains(supported, string(policy)) {
				r.unsupported(policy, supported)
			}
		}),
		require[storagev1.StorageClass]("volumeBindingMode", ""),
		onField[storagev1.StorageClass]("parameters", parameters),
	}
}

var allAccessModes = []string{
	string(corev1.ReadOnlyMany), string(corev1.ReadWriteMany), string(corev1.ReadWriteOnce), string(corev1.ReadWriteOncePod),
}

// accessModes checks access modes. As in Kubernetes, an error has the path of the list, not of the item.
func accessModes(r *report, modes []corev1.PersistentVolumeAccessMode) {
	for _, mode := range modes {
		if !slices.Contains(allAccessModes, string(mode)) {
			r.unsupported(string(mode), allAccessModes)
		}
	}
	if len(modes) > 1 && slices.Contains(modes, corev1.ReadWriteOncePod) {
		r.forbidden("may not use ReadWriteOncePod with other access modes")
	}
}

func claimSize(r *report, s *corev1.PersistentVolumeClaimSpec) {
	size, ok := s.Resources.Requests[corev1.ResourceStorage]
	switch {
	case !ok:
		r.required("", "resources", key(corev1.ResourceStorage))
	case size.Sign() <= 0:
		r.invalid(size.String(), "must be greater than zero", "resources", key(corev1.ResourceStorage))
	}
	if limit, limited := s.Resources.Limits[corev1.ResourceStorage]; ok && limited && size.Cmp(limit) > 0 {
		r.invalid(size.String(), "must be less than or equal to storage limit of "+limit.String(), "resources", "requests")
	}
}

func claimSource(r *report, s *corev1.PersistentVolumeClaimSpec) {
	if d := s.DataSource; d != nil && (d.APIGroup == nil || *d.APIGroup == "") && d.Kind != "" && d.Kind != "PersistentVolumeClaim" {
		r.invalid(d.Kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup", "dataSource")
	}
	if d := s.DataSourceRef; d != nil && (d.APIGroup == nil || *d.APIGroup == "") && d.Kind != "" && d.Kind != "PersistentVolumeClaim" {
		r.invalid(d.Kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup", "dataSourceRef")
	}
}

func capacity(r *report, list corev1.ResourceList) {
	if _, ok := list[corev1.ResourceStorage]; !ok || len(list) > 1 {
		r.unsupported(list, []string{string(corev1.ResourceStorage)})
	}
	for _, name := range sortedNames(list) {
		if q := list[name]; q.Sign() <= 0 {
			r.invalid(q.String(), "must be greater than zero", key(name))
		}
	}
}

func volumeSpec(r *report, s *corev1.PersistentVolumeSpec) {
	if s.HostPath != nil && s.HostPath.Path == "/" && s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		r.forbidden("may not be 'recycle' for a hostPath mount of '/'", "persistentVolumeReclaimPolicy")
	}
	if s.VolumeAttributesClassName != nil && s.CSI == nil {
		r.required("has to be specified when using volumeAttributesClassName", "csi")
	}
	if s.Local != nil && (s.NodeAffinity == nil || s.NodeAffinity.Required == nil) {
		r.required("Local volume requires node affinity", "nodeAffinity")
	}
}

func csiDriver(r *report, s string) {
	if len(s) > 63 {
		r.add(field.ErrorList{field.TooLong(r.path(), s, 63)})
	}
	if s != "" {
		r.invalidAll(s, validation.IsDNS1123Subdomain(strings.ToLower(s)))
	}
}

// labelKeyLower accepts a qualified name. Unlike in a label key, the prefix may have upper case
// letters.
func labelKeyLower(r *report, s string) {
	r.invalidAll(s, validation.IsQualifiedName(strings.ToLower(s)))
}

// parameters checks that a storage class has at most 512 parameters, with 256 KiB in total.
func parameters(r *report, p map[string]string) {
	const count, size = 512, 256 << 10
	if len(p) > count {
		r.add(field.ErrorList{field.TooLong(r.path(), "", count)})
		return
	}
	sum := 0
	for k, v := range p {
		if k == "" {
			r.invalid(k, "field can not be empty.")
		}
		sum += len(k) + len(v)
	}
	if sum > size {
		r.add(field.ErrorList{field.TooLong(r.path(), "", size)})
	}
}

// topologies checks the keys of allowed topologies, and that no two terms are equal.
func topologies(r *report, terms []corev1.TopologySelectorTerm) {
	for i := range terms {
		for j, q := range terms[i].MatchLabelExpressions {
			r.invalidAll(q.Key, validation.IsQualifiedName(q.Key), i, "matchLabelExpressions", j, "key")
		}
		same := func(other corev1.TopologySelectorTerm) bool {
			return reflect.DeepEqual(topologyOf(other), topologyOf(terms[i]))
		}
		if len(terms[i].MatchLabelExpressions) == 0 || slices.ContainsFunc(terms[:i], same) {
			r.duplicate("", i, "matchLabelExpressions")
		}
	}
}

// topologyOf returns the sorted values of each key.
func topologyOf(term corev1.TopologySelectorTerm) map[string][]string {
	topology := map[string][]string{}
	for _, q := range term.MatchLabelExpressions {
		topology[q.Key] = slices.Compact(slices.Sorted(slices.Values(q.Values)))
	}
	return topology
}

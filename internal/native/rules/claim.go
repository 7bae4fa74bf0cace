package rules

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

// claimRules are the rules for the spec of a PersistentVolumeClaim.
func claimRules() []rule {
	return []rule{
		require[corev1.PersistentVolumeClaimSpec]("accessModes", "at least 1 access mode is required"),
		oneOf[corev1.PersistentVolumeClaimSpec]("accessModes"),
		onField[corev1.PersistentVolumeClaimSpec]("accessModes", accessModes),
		onField[corev1.PersistentVolumeClaimSpec]("storageClassName", dnsSubdomain),
		onField[corev1.PersistentVolumeClaimSpec]("volumeAttributesClassName", dnsSubdomain),
		onStruct(claimSize),
		onStruct(claimSource),
		onStruct(keptAttributesClass),
	}
}

var allAccessModes = []string{
	string(corev1.ReadOnlyMany), string(corev1.ReadWriteMany), string(corev1.ReadWriteOnce), string(corev1.ReadWriteOncePod),
}

// accessModes checks access modes. As in Kubernetes, an error has the path of the list, not of the item.
func accessModes(r *report, modes []corev1.PersistentVolumeAccessMode) {
	others := false
	for _, mode := range modes {
		known := slices.Contains(allAccessModes, string(mode))
		if !known {
			r.unsupported(string(mode), allAccessModes)
		}
		others = others || known && mode != corev1.ReadWriteOncePod
	}
	if others && slices.Contains(modes, corev1.ReadWriteOncePod) {
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
}

// claimSource checks the object that a volume is made of. dataSource and dataSourceRef name the same object.
func claimSource(r *report, s *corev1.PersistentVolumeClaimSpec) {
	if d := s.DataSource; d != nil {
		r.under(func() { sourceGroup(r, d.APIGroup, d.Kind) }, "dataSource")
	}
	ref := s.DataSourceRef
	if ref == nil {
		return
	}
	r.under(func() { sourceGroup(r, ref.APIGroup, ref.Kind) }, "dataSourceRef")
	otherNamespace := ref.Namespace != nil && *ref.Namespace != ""
	if otherNamespace {
		r.invalidAll(*ref.Namespace, apivalidation.ValidateNamespaceName(*ref.Namespace, false), "dataSourceRef", "namespace")
	}
	switch d := s.DataSource; {
	case d == nil:
	case otherNamespace:
		r.invalid(r.path("dataSource").String(), "may not be specified when dataSourceRef.namespace is specified")
	case !reflect.DeepEqual(d.APIGroup, ref.APIGroup) || d.Kind != ref.Kind || d.Name != ref.Name:
		r.invalid(r.path("dataSource").String(), "must match dataSourceRef")
	}
}

// sourceGroup checks the API group of a data source. An update may keep a group that older servers accepted.
func sourceGroup(r *report, group *string, kind string) {
	if group == nil || *group == "" {
		if kind != "PersistentVolumeClaim" {
			r.invalid(kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
		}
		return
	}
	old, ok := r.old.(*corev1.PersistentVolumeClaim)
	hadGroup := ok && (old.Spec.DataSource != nil && old.Spec.DataSource.APIGroup != nil ||
		old.Spec.DataSourceRef != nil && old.Spec.DataSourceRef.APIGroup != nil)
	if !hadGroup {
		r.invalidAll(*group, validation.IsDNS1123Subdomain(*group), "apiGroup")
	}
}

// keptAttributesClass refuses to remove the class of a volume that has its attributes.
func keptAttributesClass(r *report, c *corev1.PersistentVolumeClaim) {
	old, ok := r.old.(*corev1.PersistentVolumeClaim)
	if !ok || old.Status.CurrentVolumeAttributesClassName == nil || reflect.DeepEqual(old.Spec.VolumeAttributesClassName, c.Spec.VolumeAttributesClassName) {
		return
	}
	const detail = " is forbidden when status.currentVolumeAttributesClassName is not nil"
	switch name := c.Spec.VolumeAttributesClassName; {
	case name == nil:
		r.forbidden("update to nil"+detail, "spec", "volumeAttributesClassName")
	case *name == "":
		r.forbidden("update to empty string"+detail, "spec", "volumeAttributesClassName")
	}
}

var resizeStatuses = []string{
	string(corev1.PersistentVolumeClaimControllerResizeInProgress), string(corev1.PersistentVolumeClaimControllerResizeInfeasible),
	string(corev1.PersistentVolumeClaimNodeResizeInProgress), string(corev1.PersistentVolumeClaimNodeResizeInfeasible),
	string(corev1.PersistentVolumeClaimNodeResizePending),
}

// volumeClaimStatus checks the capacity of a volume, and the state of its expansion.
func volumeClaimStatus(r *report, s *corev1.PersistentVolumeClaimStatus) {
	for _, name := range sortedNames(s.Capacity) {
		r.under(func() { wholeQuantity(r, s.Capacity[name]) }, "capacity", key(name))
	}
	for _, name := range sortedNames(s.AllocatedResourceStatuses) {
		r.under(func() {
			expandedResource(r, name)
			if !slices.Contains(resizeStatuses, string(s.AllocatedResourceStatuses[name])) {
				r.unsupported(name, resizeStatuses)
			}
		}, "allocatedResourceStatuses")
	}
	for _, name := range sortedNames(s.AllocatedResources) {
		before := len(r.errs)
		r.under(func() { expandedResource(r, name) }, "allocatedResources")
		if len(r.errs) == before {
			r.under(func() { wholeQuantity(r, s.AllocatedResources[name]) }, "allocatedResources", key(name))
		}
	}
}

// expandedResource checks the name of a resource of a claim: storage, or a name with the domain of a driver.
func expandedResource(r *report, name corev1.ResourceName) {
	if messages := validation.IsQualifiedName(string(name)); len(messages) > 0 {
		r.invalidAll(string(name), messages)
		return
	}
	if isNative(name) && name != corev1.ResourceStorage {
		r.unsupported(name, []string{string(corev1.ResourceStorage)})
	}
}

package rules

import (
	"path"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// persistentVolumeRules are the rules for the spec of a PersistentVolume. The file volumesource.go has those for its source.
func persistentVolumeRules() []rule {
	return append([]rule{
		notRequired[corev1.PersistentVolumeSpec]("capacity"),
		require[corev1.PersistentVolumeSpec]("accessModes", ""),
		oneOf[corev1.PersistentVolumeSpec]("accessModes"),
		onField[corev1.PersistentVolumeSpec]("accessModes", accessModes),
		onField[corev1.PersistentVolumeSpec]("storageClassName", dnsSubdomain),
		require[corev1.VolumeNodeAffinity]("required", "must specify required node constraints"),
		onStruct(persistentVolume),
	}, skipFields[corev1.PersistentVolumeSource]()...) // volumeSource checks the first source that is set
}

func persistentVolume(r *report, v *corev1.PersistentVolume) {
	r.under(func() {
		r.under(func() { capacity(r, v.Spec.Capacity) }, "capacity")
		volumeSource(r, &v.Spec, volumeContext{name: v.Name, affinity: v.Spec.NodeAffinity != nil})
		attributesClass(r, &v.Spec)
	}, "spec")
	old, ok := r.old.(*corev1.PersistentVolume)
	if ok && old.Spec.VolumeAttributesClassName != nil && v.Spec.VolumeAttributesClassName == nil {
		r.forbidden("update from non-nil value to nil is forbidden", "spec", "volumeAttributesClassName")
	}
}

func capacity(r *report, list corev1.ResourceList) {
	if len(list) == 0 {
		r.required("")
	}
	if _, ok := list[corev1.ResourceStorage]; !ok || len(list) > 1 {
		r.unsupported(list, []string{string(corev1.ResourceStorage)})
	}
	for _, name := range sortedNames(list) {
		q := list[name]
		r.under(func() { wholeQuantity(r, q) }, key(name))
		if q.Sign() <= 0 {
			r.invalid(q.String(), "must be greater than zero", key(name))
		}
	}
}

// wholeQuantity checks that a number of bytes is not negative.
func wholeQuantity(r *report, q resource.Quantity) {
	if q.Value() < 0 {
		r.invalid(q.Value(), "must be a valid resource quantity")
	}
}

// attributesClass checks the class of the attributes of a volume, which only volumes of CSI drivers have.
func attributesClass(r *report, s *corev1.PersistentVolumeSpec) {
	name := s.VolumeAttributesClassName
	if name == nil {
		return
	}
	if *name == "" {
		r.required("an empty string is disallowed", "volumeAttributesClassName")
	} else {
		r.invalidAll(*name, validation.IsDNS1123Subdomain(*name), "volumeAttributesClassName")
	}
	if s.CSI == nil {
		r.required("has to be specified when using volumeAttributesClassName", "csi")
	}
}

// volumeContext is what the checks of a volume source need of the volume.
type volumeContext struct {
	name     string // of the PersistentVolume
	affinity bool   // the volume has a node affinity
}

// volumeSources are the sources of a PersistentVolume in the order of their checks. As in Kubernetes, the path of some errors
// differs from the name of the field: other is that of the error that another source is set, and within that of errors
// within the source.
var volumeSources = []struct{ field, other, within string }{
	{field: "hostPath"},
	{field: "gcePersistentDisk", within: "persistentDisk"},
	{field: "awsElasticBlockStore"},
	{field: "glusterfs"},
	{field: "flocker"},
	{field: "nfs"},
	{field: "rbd"},
	{field: "quobyte"},
	{field: "cephfs", other: "cephFS"},
	{field: "iscsi"},
	{field: "cinder"},
	{field: "fc"},
	{field: "flexVolume"},
	{field: "azureFile"},
	{field: "vsphereVolume"},
	{field: "photonPersistentDisk"},
	{field: "portworxVolume"},
	{field: "azureDisk"},
	{field: "scaleIO"},
	{field: "local"},
	{field: "storageos"},
	{field: "csi"},
}

// volumeSource checks that a volume has one source, and the fields of this source.
func volumeSource(r *report, s *corev1.PersistentVolumeSpec, c volumeContext) {
	sources := reflect.ValueOf(&s.PersistentVolumeSource).Elem()
	found := false
	for _, source := range volumeSources {
		value := sources.FieldByIndex(fieldOf(sources.Type(), source.field).Index)
		if value.IsNil() {
			continue
		}
		other, within := source.field, source.field
		if source.other != "" {
			other = source.other
		}
		if source.within != "" {
			within = source.within
		}
		// Kubernetes accepts a flexVolume beside another source.
		if found && source.field != "flexVolume" {
			r.forbidden("may not specify more than 1 volume type", other)
			continue
		}
		found = true
		r.walkBelow(value, within)
		switch {
		case source.field == "iscsi" && s.ISCSI.InitiatorName != nil && len(c.name+":"+s.ISCSI.TargetPortal) > 64:
			r.invalid(s.ISCSI.TargetPortal, "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "+
				"iscsi.initiatorName is specified.", "iscsi", "targetportal")
		case source.field == "local" && !c.affinity:
			r.required("Local volume requires node affinity", "nodeAffinity")
		}
	}
	if !found {
		r.required("must specify a volume type")
	}
	if s.HostPath != nil && path.Clean(s.HostPath.Path) == "/" && s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		r.forbidden("may not be 'recycle' for a hostPath mount of '/'", "persistentVolumeReclaimPolicy")
	}
}

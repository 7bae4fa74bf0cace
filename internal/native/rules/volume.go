package rules

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
)

// volumeTypes are the types of volumes.
var volumeTypes = newUnion[corev1.VolumeSource](
	"emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi", "glusterfs", "flocker",
	"persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile",
	"vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)

// secondVolumes are the names of two types in errors about a second type, as Kubernetes writes them.
var secondVolumes = map[string]string{"cephfs": "cephFS", "downwardAPI": "downwarAPI"}

func volumeRules() []rule {
	return slices.Concat(volumeTypes.rules(), volumeSourceRules(), projectionRules(), []rule{
		onField[corev1.Volume]("name", dnsLabel),
		onStruct(func(r *report, v *corev1.Volume) {
			oneVolume(r, &v.VolumeSource)
			iscsiName(r, v)
			claimName(r, v)
		}),
		onStruct(createdClaims),

		onField[corev1.HostPathVolumeSource]("path", noBacksteps),
		when("type", func(_ *report, s *corev1.HostPathVolumeSource) bool { return s.Path != "" }),
		notRequired[corev1.NFSVolumeSource]("path"),
		onField[corev1.NFSVolumeSource]("path", notEmptyString, absolute),
		onStruct(func(r *report, e *corev1.EmptyDirVolumeSource) {
			if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
				r.forbidden("SizeLimit field must be a valid resource quantity", "sizeLimit")
			}
		}),
		require[corev1.EphemeralVolumeSource]("volumeClaimTemplate", ""),
		onStruct(claimTemplate),

		require[corev1.SecretVolumeSource]("secretName", ""),
		onField[corev1.SecretVolumeSource]("defaultMode", fileMode),
		onField[corev1.ConfigMapVolumeSource]("defaultMode", fileMode),
		namedReference(func(s *corev1.ConfigMapVolumeSource) string { return s.Name }),
		onField[corev1.DownwardAPIVolumeSource]("defaultMode", fileMode),
		leftOut[corev1.DownwardAPIVolumeSource]("items"),
		onField[corev1.KeyToPath]("path", nonReservedPath),
		onField[corev1.KeyToPath]("mode", fileMode),
		onField[corev1.DownwardAPIVolumeFile]("path", nonReservedPath),
		onField[corev1.DownwardAPIVolumeFile]("mode", fileMode),
		when("resourceFieldRef", func(_ *report, f *corev1.DownwardAPIVolumeFile) bool { return f.FieldRef == nil }),
		onStruct(downwardFile),
		require[corev1.ImageVolumeSource]("pullPolicy", ""),
		onStruct(func(r *report, s *corev1.ImageVolumeSource) {
			if r.owner != nil && s.Reference == "" {
				r.required("", "reference")
			}
		}),
	})
}

// oneVolume checks that a volume has exactly one type.
func oneVolume(r *report, s *corev1.VolumeSource) {
	set := volumeTypes.set(s)
	if len(set) == 0 {
		r.required("must specify a volume type")
		return
	}
	for _, name := range set[1:] {
		if second, ok := secondVolumes[name]; ok {
			name = second
		}
		r.forbidden("may not specify more than 1 volume type", name)
	}
}

// claimName checks the name of the claim that the cluster creates for an ephemeral volume.
func claimName(r *report, v *corev1.Volume) {
	if first, _ := volumeTypes.first(&v.VolumeSource); first != "ephemeral" || r.owner == nil || r.owner.Name == "" || v.Name == "" {
		return
	}
	claim := r.owner.Name + "-" + v.Name
	for _, message := range apivalidation.NameIsDNSSubdomain(claim, false) {
		r.invalid(v.Name, fmt.Sprintf("PVC name %q: %v", claim, message), "name")
	}
}

// createdClaims rejects volumes that use a claim that the cluster creates for another volume of the pod.
func createdClaims(r *report, p *corev1.Pod) {
	for i := range p.Spec.Volumes {
		source := p.Spec.Volumes[i].PersistentVolumeClaim
		isCreated := func(v corev1.Volume) bool { return v.Ephemeral != nil && p.Name+"-"+v.Name == source.ClaimName }
		if source != nil && slices.ContainsFunc(p.Spec.Volumes, isCreated) {
			r.invalid(source.ClaimName, "must not reference a PVC that gets created for an ephemeral volume",
				"spec", "volumes", i, "persistentVolumeClaim", "claimName")
		}
	}
}

// claimTemplate checks the metadata of the claim of an ephemeral volume: it has labels and annotations only.
func claimTemplate(r *report, t *corev1.PersistentVolumeClaimTemplate) {
	if len(t.Annotations) > 0 {
		r.add(apivalidation.ValidateAnnotations(t.Annotations, r.path("metadata", "annotations")))
	}
	r.under(func() { labelSet(r, t.Labels) }, "metadata", "labels")
	v := reflect.ValueOf(t.ObjectMeta)
	for i := range v.NumField() {
		name := jsonName(v.Type().Field(i))
		if name != "annotations" && name != "labels" && !v.Field(i).IsZero() {
			r.forbidden("cannot be set", "metadata", name)
		}
	}
}

func fileMode(r *report, mode int32) {
	if mode < 0 || mode > 0o777 {
		r.invalid(mode, "must be a number between 0 and 0777 (octal), both inclusive")
	}
}

func downwardFile(r *report, f *corev1.DownwardAPIVolumeFile) {
	switch {
	case f.FieldRef != nil:
		r.under(func() { fieldPath(r, f.FieldRef, volumeFields) }, "fieldRef")
		if f.ResourceFieldRef != nil {
			r.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
		}
	case f.ResourceFieldRef == nil:
		r.required("one of fieldRef and resourceFieldRef is required")
	}
}

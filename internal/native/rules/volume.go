package rules

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func volumeRules() []rule {
	return []rule{
		onField[corev1.Volume]("name", dnsLabel),
		onField[corev1.PodSpec]("volumes", func(r *report, volumes []corev1.Volume) {
			for i, v := range volumes {
				if v.Name != "" && slices.ContainsFunc(volumes[:i], func(o corev1.Volume) bool { return o.Name == v.Name }) {
					r.duplicate(v.Name, i, "name")
				}
			}
		}),
		onStruct(func(r *report, s *corev1.VolumeSource) { exactlyOneVolume(r, reflect.ValueOf(s).Elem()) }),

		onField[corev1.HostPathVolumeSource]("path", noBacksteps),
		onField[corev1.NFSVolumeSource]("path", absolute),
		onStruct(func(r *report, e *corev1.EmptyDirVolumeSource) {
			if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
				r.forbidden("SizeLimit field must be a valid resource quantity", "sizeLimit")
			}
		}),
		require[corev1.EphemeralVolumeSource]("volumeClaimTemplate", ""),

		require[corev1.SecretVolumeSource]("secretName", ""),
		onField[corev1.SecretVolumeSource]("defaultMode", fileMode),
		onField[corev1.ConfigMapVolumeSource]("defaultMode", fileMode),
		namedReference(func(s *corev1.ConfigMapVolumeSource) string { return s.Name }),
		onField[corev1.DownwardAPIVolumeSource]("defaultMode", fileMode),
		onField[corev1.KeyToPath]("path", nonReservedPath),
		onField[corev1.KeyToPath]("mode", fileMode),
		onField[corev1.DownwardAPIVolumeFile]("path", nonReservedPath),
		onField[corev1.DownwardAPIVolumeFile]("mode", fileMode),
		onStruct(downwardFile),

		onField[corev1.ProjectedVolumeSource]("defaultMode", fileMode),
		onField[corev1.ProjectedVolumeSource]("sources", projections),
		namedReference(func(s *corev1.SecretProjection) string { return s.Name }),
		namedReference(func(s *corev1.ConfigMapProjection) string { return s.Name }),
		onField[corev1.ServiceAccountTokenProjection]("path", nonReservedPath),
		onField[corev1.ServiceAccountTokenProjection]("expirationSeconds", func(r *report, n int64) {
			if n < 10*60 {
				r.invalid(n, "may not specify a duration less than 10 minutes")
			}
			if n > 1<<32 {
				r.invalid(n, "may not specify a duration larger than 2^32 seconds")
			}
		}),
		onField[corev1.ClusterTrustBundleProjection]("path", nonReservedPath),
	}
}

// exactlyOneVolume checks that exactly one field of a struct of pointers is set.
func exactlyOneVolume(r *report, sources reflect.Value) {
	set := 0
	for i := range sources.NumField() {
		if sources.Field(i).IsNil() {
			continue
		}
		if set++; set > 1 {
			r.forbidden("may not specify more than 1 volume type", jsonName(sources.Type().Field(i)))
		}
	}
	if set == 0 {
		r.required("must specify a volume type")
	}
}

func fileMode(r *report, mode int32) {
	if mode < 0 || mode > 0o777 {
		r.invalid(mode, "must be a number between 0 and 0777 (octal), both inclusive")
	}
}

func downwardFile(r *report, f *corev1.DownwardAPIVolumeFile) {
	switch {
	case f.FieldRef != nil && f.ResourceFieldRef != nil:
		r.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
	case f.FieldRef != nil:
		r.under(func() { fieldPath(r, f.FieldRef.FieldPath, volumeFields) }, "fieldRef")
	case f.ResourceFieldRef != nil:
		if f.ResourceFieldRef.ContainerName == "" {
			r.required("", "resourceFieldRef", "containerName")
		}
	default:
		r.required("one of fieldRef and resourceFieldRef is required")
	}
}

// projections checks that each source of a projected volume has one type, and that no two files have the same path.
func projections(r *report, sources []corev1.VolumeProjection) {
	var taken []string
	claim := func(path string, i int) {
		if path == "" {
			return
		}
		if slices.Contains(taken, path) {
			r.invalid(path, "conflicting duplicate paths", i)
		}
		taken = append(taken, path)
	}
	for i, s := range sources {
		v := reflect.ValueOf(s)
		set := 0
		for f := range v.NumField() {
			if !v.Field(f).IsNil() {
				set++
			}
		}
		if set > 1 {
			r.forbidden("may not specify more than 1 volume type per source", i)
		}
		if s.Secret != nil {
			claimItems(s.Secret.Items, i, claim)
		}
		if s.ConfigMap != nil {
			claimItems(s.ConfigMap.Items, i, claim)
		}
		if s.DownwardAPI != nil {
			for _, item := range s.DownwardAPI.Items {
				claim(item.Path, i)
			}
		}
		if s.ServiceAccountToken != nil {
			claim(s.ServiceAccountToken.Path, i)
		}
		if s.ClusterTrustBundle != nil {
			claim(s.ClusterTrustBundle.Path, i)
		}
	}
}

func claimItems(items []corev1.KeyToPath, source int, claim func(string, int)) {
	for _, item := range items {
		claim(item.Path, source)
	}
}

// mountsExist checks that the mounts and devices of a container refer to volumes of the pod.
func mountsExist(r *report, s *corev1.PodSpec, mounts []corev1.VolumeMount, devices []corev1.VolumeDevice, at ...any) {
	find := func(name string) int {
		return slices.IndexFunc(s.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	}
	for i, m := range mounts {
		if m.Name != "" && find(m.Name) < 0 && !slices.Contains(r.claimTemplates, m.Name) {
			r.add(notFound(r.path(append(at, "volumeMounts", i, "name")...), m.Name))
		}
	}
	for i, d := range devices {
		v := find(d.Name)
		switch {
		case d.Name == "" || slices.Contains(r.claimTemplates, d.Name):
		case v < 0:
			r.add(notFound(r.path(append(at, "volumeDevices", i, "name")...), d.Name))
		case s.Volumes[v].PersistentVolumeClaim == nil && s.Volumes[v].Ephemeral == nil:
			r.invalid(d.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
				append(at, "volumeDevices", i, "name")...)
		}
	}
}

func notFound(path *field.Path, value string) field.ErrorList {
	return field.ErrorList{field.NotFound(path, value)}
}

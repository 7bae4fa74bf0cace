package rules

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validVolumes returns the volumes of a pod without errors by their names, and rejects a name that a volume before has.
// Kubernetes ignores the volumes with errors: a mount of one has an error, too.
func validVolumes(r *report, s *corev1.PodSpec) map[string]*corev1.VolumeSource {
	valid := make(map[string]*corev1.VolumeSource, len(s.Volumes))
	for i := range s.Volumes {
		v := &s.Volumes[i]
		if valid[v.Name] != nil {
			r.duplicate(v.Name, "volumes", i, "name")
		}
		if !r.hasErrors("volumes", i) {
			valid[v.Name] = &v.VolumeSource
		}
	}
	return valid
}

// containerVolumes checks the mounts and devices of a container.
func containerVolumes(r *report, c *corev1.Container, volumes map[string]*corev1.VolumeSource) {
	for i := range c.VolumeMounts {
		if name := c.VolumeMounts[i].Name; volumes[name] == nil {
			r.add(notFound(r.path("volumeMounts", i, "name"), name))
		}
	}
	for i := range c.VolumeDevices {
		name := c.VolumeDevices[i].Name
		switch v := volumes[name]; {
		case v == nil:
			r.add(notFound(r.path("volumeDevices", i, "name"), name))
		case v.PersistentVolumeClaim == nil && v.Ephemeral == nil:
			r.invalid(name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode", "volumeDevices", i, "name")
		}
	}
}

func notFound(path *field.Path, value string) field.ErrorList {
	return field.ErrorList{field.NotFound(path, value)}
}

// mounts checks that the mounts of a container differ from each other and from its devices. Kubernetes leaves the index out
// of some paths.
func mounts(r *report, c *corev1.Container) {
	privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
	for i, m := range c.VolumeMounts {
		if slices.ContainsFunc(c.VolumeMounts[:i], func(o corev1.VolumeMount) bool { return o.MountPath == m.MountPath }) {
			r.invalid(m.MountPath, "must be unique", "volumeMounts", i, "mountPath")
		}
		if slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == m.Name }) {
			r.invalid(m.Name, "must not already exist in volumeDevices", "volumeMounts", i, "name")
		}
		if slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.DevicePath == m.MountPath }) {
			r.invalid(m.MountPath, "must not already exist as a path in volumeDevices", "volumeMounts", i, "mountPath")
		}
		if m.SubPath != "" && m.SubPathExpr != "" {
			r.invalid(m.SubPathExpr, "subPathExpr and subPath are mutually exclusive", "volumeMounts", i, "subPathExpr")
		}
		r.under(func() { descendingPath(r, m.SubPath) }, "volumeMounts", "subPath")
		r.under(func() { descendingPath(r, m.SubPathExpr) }, "volumeMounts", "subPathExpr")
		if p := m.MountPropagation; p != nil {
			r.under(func() { mountPropagation(r, *p, privileged) }, "volumeMounts", "mountPropagation")
		}
		if m.RecursiveReadOnly != nil {
			r.under(func() { recursiveReadOnly(r, &m) }, "volumeMounts", "recursiveReadOnly")
		}
	}
}

func mountPropagation(r *report, p corev1.MountPropagationMode, isPrivileged bool) {
	supported := []string{"Bidirectional", "HostToContainer", "None"}
	if !slices.Contains(supported, string(p)) {
		r.unsupported(p, supported)
	}
	if p == corev1.MountPropagationBidirectional && !isPrivileged {
		r.forbidden("Bidirectional mount propagation is available only to privileged containers")
	}
}

func recursiveReadOnly(r *report, m *corev1.VolumeMount) {
	switch *m.RecursiveReadOnly {
	case corev1.RecursiveReadOnlyDisabled:
	case corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible:
		if !m.ReadOnly {
			r.forbidden("may only be specified when readOnly is true")
		}
		if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
			r.forbidden("may only be specified when mountPropagation is None or not specified")
		}
	default:
		r.unsupported(*m.RecursiveReadOnly, []string{"Disabled", "Enabled", "IfPossible"})
	}
}

// devices checks that the devices of a container differ from each other and from its mounts.
func devices(r *report, c *corev1.Container) {
	var paths []string
	for i, d := range c.VolumeDevices {
		if d.Name != "" && slices.ContainsFunc(c.VolumeDevices[:i], func(o corev1.VolumeDevice) bool { return o.Name == d.Name }) {
			r.invalid(d.Name, "must be unique", "volumeDevices", i, "name")
		}
		if slices.Contains(paths, d.DevicePath) {
			r.invalid(d.DevicePath, "must be unique", "volumeDevices", i, "devicePath")
		}
		if slices.Contains(strings.Split(d.DevicePath, "/"), "..") {
			r.invalid(d.DevicePath, "can not contain backsteps ('..')", "volumeDevices", i, "devicePath")
		} else {
			paths = append(paths, d.DevicePath)
		}
		if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == d.Name }) {
			r.invalid(d.Name, "must not already exist in volumeMounts", "volumeDevices", i, "name")
		}
		if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == d.DevicePath }) {
			r.invalid(d.DevicePath, "must not already exist as a path in volumeMounts", "volumeDevices", i, "devicePath")
		}
	}
}

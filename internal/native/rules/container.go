package rules

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func containerRules() []rule {
	return []rule{
		onField[corev1.Container]("name", dnsLabel),
		require[corev1.Container]("image", ""),
		onField[corev1.Container]("image", noOuterSpaces),
		require[corev1.Container]("imagePullPolicy", ""),
		require[corev1.Container]("terminationMessagePolicy", ""),
		onField[corev1.Container]("ports", containerPorts),
		onField[corev1.Container]("volumeDevices", blockDevices),
		oneOf[corev1.Container]("restartPolicy", "Always", "Never", "OnFailure"),
		onStruct(func(r *report, c *corev1.Container) {
			mountPaths(r, c.VolumeMounts, c.VolumeDevices)
			mountPropagation(r, c.VolumeMounts, c.SecurityContext)
			oneSuccess(r, c.LivenessProbe, "livenessProbe")
			oneSuccess(r, c.StartupProbe, "startupProbe")
			noGracePeriod(r, c.ReadinessProbe)
		}),

		onField[corev1.EphemeralContainerCommon]("name", dnsLabel),
		require[corev1.EphemeralContainerCommon]("image", ""),
		onField[corev1.EphemeralContainerCommon]("image", noOuterSpaces),
		require[corev1.EphemeralContainerCommon]("terminationMessagePolicy", ""),
		onStruct(ephemeralContainer),

		onField[corev1.ContainerPort]("name", validString[string](validation.IsValidPortName)),
		require[corev1.ContainerPort]("protocol", ""),
		onField[corev1.ContainerPort]("hostPort", func(r *report, n int32) {
			if n != 0 {
				port(r, n)
			}
		}),
		onField[corev1.ContainerPort]("containerPort", func(r *report, n int32) {
			if n == 0 {
				r.required("")
				return
			}
			port(r, n)
		}),
		onField[corev1.ContainerPort]("hostIP", func(r *report, s string) {
			if s != "" {
				ip(r, s)
			}
		}),

		onField[corev1.VolumeMount]("subPath", descendingPath),
		onField[corev1.VolumeMount]("subPathExpr", descendingPath),
		onField[corev1.VolumeDevice]("devicePath", noBacksteps),
		oneOf[corev1.ContainerResizePolicy]("resourceName"),
		notRequired[corev1.ContainerResizePolicy]("resourceName"),
		oneOf[corev1.ContainerResizePolicy]("restartPolicy"),
		notRequired[corev1.ContainerResizePolicy]("restartPolicy"),
		onField[corev1.Container]("resizePolicy", resizePolicies),
	}
}

func noOuterSpaces(r *report, s string) {
	if strings.TrimSpace(s) != s {
		r.invalid(s, "must not have leading or trailing whitespace")
	}
}

func containerPorts(r *report, ports []corev1.ContainerPort) {
	var names []string
	for i, p := range ports {
		if p.Name == "" {
			continue
		}
		if slices.Contains(names, p.Name) {
			r.duplicate(p.Name, i, "name")
		}
		names = append(names, p.Name)
	}
}

// mountPaths checks that the mount paths of a container differ from each other and from the paths of its devices.
func mountPaths(r *report, mounts []corev1.VolumeMount, devices []corev1.VolumeDevice) {
	for i, m := range mounts {
		if m.MountPath != "" && slices.ContainsFunc(mounts[:i], func(o corev1.VolumeMount) bool { return o.MountPath == m.MountPath }) {
			r.invalid(m.MountPath, "must be unique", "volumeMounts", i, "mountPath")
		}
		for _, d := range devices {
			if d.Name == m.Name {
				r.invalid(m.Name, "must not already exist in volumeDevices", "volumeMounts", i, "name")
			}
			if d.DevicePath == m.MountPath {
				r.invalid(m.MountPath, "must not already exist as a path in volumeDevices", "volumeMounts", i, "mountPath")
			}
		}
		if m.SubPath != "" && m.SubPathExpr != "" {
			r.invalid(m.SubPathExpr, "subPathExpr and subPath are mutually exclusive", "volumeMounts", i, "subPathExpr")
		}
	}
}

func mountPropagation(r *report, mounts []corev1.VolumeMount, security *corev1.SecurityContext) {
	privileged := security != nil && security.Privileged != nil && *security.Privileged
	for i, m := range mounts {
		if p := m.MountPropagation; p != nil && *p == corev1.MountPropagationBidirectional && !privileged {
			r.forbidden("Bidirectional mount propagation is available only to privileged containers", "volumeMounts", i, "mountPropagation")
		}
	}
}

func blockDevices(r *report, devices []corev1.VolumeDevice) {
	for i, d := range devices {
		for _, o := range devices[:i] {
			if d.Name != "" && o.Name == d.Name {
				r.invalid(d.Name, "must be unique", i, "name")
			}
			if d.DevicePath != "" && o.DevicePath == d.DevicePath {
				r.invalid(d.DevicePath, "must be unique", i, "devicePath")
			}
		}
	}
}

// ephemeralContainer rejects the fields that an ephemeral container cannot have.
func ephemeralContainer(r *report, c *corev1.EphemeralContainerCommon) {
	const never = "cannot be set for an Ephemeral Container"
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"ports", len(c.Ports) > 0},
		{"resources", len(c.Resources.Limits)+len(c.Resources.Requests)+len(c.Resources.Claims) > 0},
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
		{"lifecycle", c.Lifecycle != nil},
	} {
		if f.set {
			r.forbidden(never, f.name)
		}
	}
	mountPaths(r, c.VolumeMounts, c.VolumeDevices)
}

// descendingPath rejects a path that is absolute or has the element "..".
func descendingPath(r *report, s string) {
	if path.IsAbs(s) {
		r.invalid(s, "must be a relative path")
	}
	noBacksteps(r, s)
}

func noBacksteps(r *report, s string) {
	if slices.Contains(strings.Split(s, "/"), "..") {
		r.invalid(s, "must not contain '..'")
	}
}

// nonReservedPath rejects what descendingPath rejects, and a path that starts with "..". The
// kubelet reserves names with this prefix for its own files in volumes.
func nonReservedPath(r *report, s string) {
	descendingPath(r, s)
	if strings.HasPrefix(s, "..") && !strings.HasPrefix(s, "../") {
		r.invalid(s, "must not start with '..'")
	}
}

// resizePolicies checks how containers are resized. As in Kubernetes, an error has the path of the list.
func resizePolicies(r *report, policies []corev1.ContainerResizePolicy) {
	resources, restarts := []string{"cpu", "memory"}, []string{string(corev1.NotRequired), string(corev1.RestartContainer)}
	for i, policy := range policies {
		if slices.ContainsFunc(policies[:i], func(o corev1.ContainerResizePolicy) bool { return o.ResourceName == policy.ResourceName }) {
			r.duplicate(policy.ResourceName, i)
		}
		if !slices.Contains(resources, string(policy.ResourceName)) {
			r.unsupported(policy.ResourceName, resources)
		}
		switch {
		case policy.RestartPolicy == "":
			r.required("")
		case !slices.Contains(restarts, string(policy.RestartPolicy)):
			r.unsupported(policy.RestartPolicy, restarts)
		}
	}
}

package rules

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The lists of containers in the spec of a pod.
const (
	containers          = "containers"
	initContainers      = "initContainers"
	ephemeralContainers = "ephemeralContainers"
)

func containerRules() []rule {
	return []rule{
		sameAs[corev1.EphemeralContainerCommon, corev1.Container](),
		onField[corev1.Container]("name", dnsLabel),
		require[corev1.Container]("image", ""),
		require[corev1.Container]("imagePullPolicy", ""),
		require[corev1.Container]("terminationMessagePolicy", ""),
		onField[corev1.Container]("resizePolicy", resizePolicies),
		when("lifecycle", isLasting),
		when("livenessProbe", isLasting),
		when("readinessProbe", isLasting),
		when("startupProbe", isLasting),
		onStruct(func(r *report, c *corev1.Container) {
			mounts(r, c)
			devices(r, c)
			switch list := listOf(r); {
			case list == ephemeralContainers:
				ephemeralContainer(r, c)
				return
			case list == initContainers && !isSidecar(c):
				initContainer(r, c)
				return
			}
			oneSuccess(r, c.LivenessProbe, "livenessProbe")
			oneSuccess(r, c.StartupProbe, "startupProbe")
			noGracePeriod(r, c.ReadinessProbe)
		}),

		onField[corev1.Container]("ports", containerPorts),
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

		oneOf[corev1.VolumeMount]("mountPropagation"),
		oneOf[corev1.VolumeMount]("recursiveReadOnly"),
		oneOf[corev1.ContainerResizePolicy]("resourceName"),
		notRequired[corev1.ContainerResizePolicy]("resourceName"),
		oneOf[corev1.ContainerResizePolicy]("restartPolicy"),
		notRequired[corev1.ContainerResizePolicy]("restartPolicy"),
	}
}

// listOf returns the list of the container that is being checked.
func listOf(r *report) string {
	list, _ := r.at[len(r.at)-2].(string)
	return list
}

// isSidecar reports whether an init container runs as long as the other containers.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// isLasting reports whether a container can have probes and lifecycle hooks. If it cannot, Kubernetes does not validate them.
func isLasting(r *report, c *corev1.Container) bool {
	list := listOf(r)
	return list == containers || list == initContainers && isSidecar(c)
}

func containerPorts(r *report, ports []corev1.ContainerPort) {
	var names []string
	for i, p := range ports {
		if p.Name == "" || len(validation.IsValidPortName(p.Name)) > 0 {
			continue
		}
		if slices.Contains(names, p.Name) {
			r.duplicate(p.Name, i, "name")
		}
		names = append(names, p.Name)
	}
}

// initContainer rejects probes and lifecycle hooks of init containers that end before the other containers start.
func initContainer(r *report, c *corev1.Container) {
	refuseSet(r, "may not be set for init containers without restartPolicy=Always",
		setField{"lifecycle", c.Lifecycle != nil}, setField{"livenessProbe", c.LivenessProbe != nil},
		setField{"readinessProbe", c.ReadinessProbe != nil}, setField{"startupProbe", c.StartupProbe != nil})
	if hasRestartingInitContainer(r.oldPod) {
		return
	}
	for i, policy := range c.ResizePolicy {
		if policy.RestartPolicy == corev1.RestartContainer {
			r.invalid(policy.RestartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers", "resizePolicy", i, "restartPolicy")
		}
	}
}

// hasRestartingInitContainer reports whether a stored pod has an init container that initContainer rejects. It may stay.
func hasRestartingInitContainer(s *corev1.PodSpec) bool {
	restarts := func(p corev1.ContainerResizePolicy) bool { return p.RestartPolicy == corev1.RestartContainer }
	return s != nil && slices.ContainsFunc(s.InitContainers, func(c corev1.Container) bool {
		return !isSidecar(&c) && slices.ContainsFunc(c.ResizePolicy, restarts)
	})
}

// ephemeralContainer rejects the fields that an ephemeral container cannot have.
func ephemeralContainer(r *report, c *corev1.Container) {
	const never = "cannot be set for an Ephemeral Container"
	noOuterSpaces(r, c.Image)
	refuseSet(r, never,
		setField{"ports", c.Ports != nil},
		setField{"resources", c.Resources.Limits != nil || c.Resources.Requests != nil || c.Resources.Claims != nil},
		setField{"resizePolicy", c.ResizePolicy != nil}, setField{"restartPolicy", c.RestartPolicy != nil},
		setField{"restartPolicyRules", c.RestartPolicyRules != nil}, setField{"livenessProbe", c.LivenessProbe != nil},
		setField{"readinessProbe", c.ReadinessProbe != nil}, setField{"startupProbe", c.StartupProbe != nil},
		setField{"lifecycle", c.Lifecycle != nil})
	for i, m := range c.VolumeMounts {
		r.under(func() {
			refuseSet(r, never, setField{"subPath", m.SubPath != ""}, setField{"subPathExpr", m.SubPathExpr != ""})
		}, "volumeMounts", i)
	}
}

// setField is the name of a field, and whether it is set.
type setField struct {
	name  string
	isSet bool
}

// refuseSet rejects the fields that are set.
func refuseSet(r *report, detail string, fields ...setField) {
	for _, f := range fields {
		if f.isSet {
			r.forbidden(detail, f.name)
		}
	}
}

// noOuterSpaces checks the image of a container of a pod. In a pod template it may have spaces.
func noOuterSpaces(r *report, image string) {
	if strings.TrimSpace(image) != image {
		r.invalid(image, "must not have leading or trailing whitespace", "image")
	}
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
	oneOf := func(value string, supported []string) {
		switch {
		case value == "":
			r.required("")
		case !slices.Contains(supported, value):
			r.unsupported(value, supported)
		}
	}
	for i, policy := range policies {
		if slices.ContainsFunc(policies[:i], func(o corev1.ContainerResizePolicy) bool { return o.ResourceName == policy.ResourceName }) {
			r.duplicate(policy.ResourceName, i)
		}
		oneOf(string(policy.ResourceName), resources)
		oneOf(string(policy.RestartPolicy), restarts)
		if r.pod.RestartPolicy == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired {
			r.invalid(policy.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
		}
	}
}

package rules

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

func podRules() []rule {
	return []rule{
		onStruct(func(r *report, p *corev1.Pod) {
			if r.create && len(p.Spec.EphemeralContainers) > 0 {
				r.forbidden("cannot be set on create", "spec", "ephemeralContainers")
			}
		}),
		onStruct(hostNetworkPorts),
		onStruct(func(r *report, t *corev1.PodTemplateSpec) {
			// The paths of Kubernetes leave metadata out.
			r.under(func() { labelSet(r, t.Labels) }, "labels")
			if len(t.Annotations) > 0 {
				r.add(apivalidation.ValidateAnnotations(t.Annotations, r.path("annotations")))
			}
			if len(t.Spec.EphemeralContainers) > 0 {
				r.forbidden("ephemeral containers not allowed in pod template", "spec", "ephemeralContainers")
			}
		}),

		require[corev1.PodSpec]("restartPolicy", ""),
		require[corev1.PodSpec]("dnsPolicy", ""),
		onField[corev1.PodSpec]("activeDeadlineSeconds", within[int64](1, math.MaxInt32)),
		onField[corev1.PodSpec]("nodeSelector", labelSet),
		onField[corev1.PodSpec]("serviceAccountName", dnsSubdomain),
		onField[corev1.PodSpec]("nodeName", dnsSubdomain),
		onField[corev1.PodSpec]("hostname", dnsLabel),
		onField[corev1.PodSpec]("subdomain", dnsLabel),
		onField[corev1.PodSpec]("priorityClassName", dnsSubdomain),
		onField[corev1.PodSpec]("runtimeClassName", dnsSubdomain),
		onField[corev1.PodSpec]("overhead", func(r *report, list corev1.ResourceList) {
			for _, name := range sortedNames(list) {
				// Kubernetes checks the overhead as limits of a container.
				r.under(func() { containerResource(r, name); quantity(r, list[name]) }, "limits", key(name))
			}
		}),
		onStruct(containerNames),
		onStruct(hostPorts),
		onStruct(initContainers),
		onStruct(podNetwork),

		notRequired[corev1.HostAlias]("ip"),
		onField[corev1.HostAlias]("ip", ip),
		onField[corev1.HostAlias]("hostnames", eachItem(func(r *report, s string) { r.invalidAll(s, validation.IsDNS1123Subdomain(s)) })),
		onField[corev1.PodDNSConfig]("nameservers", func(r *report, servers []string) {
			if len(servers) > 3 {
				r.invalid(servers, "must not have more than 3 nameservers")
			}
			eachItem(ip)(r, servers)
		}),
		onField[corev1.PodDNSConfig]("searches", func(r *report, domains []string) {
			if len(domains) > 32 {
				r.invalid(domains, "must not have more than 32 search paths")
			}
		}),
		require[corev1.PodDNSConfigOption]("name", "must not be empty"),
		require[corev1.PodOS]("name", "cannot be empty"),
		oneOf[corev1.PodOS]("name"),
		onStruct(func(r *report, os *corev1.PodOS) {
			if supported := []string{"linux", "windows"}; os.Name != "" && !slices.Contains(supported, string(os.Name)) {
				r.unsupported(os.Name, supported)
			}
		}),
		onField[corev1.PodReadinessGate]("conditionType", validString[corev1.PodConditionType](validation.IsQualifiedName)),
		onField[corev1.PodSchedulingGate]("name", qualifiedName),
		onField[corev1.PodSpec]("schedulingGates", func(r *report, gates []corev1.PodSchedulingGate) {
			for i, g := range gates {
				if slices.Contains(gates[:i], g) {
					r.duplicate(g.Name, i)
				}
			}
		}),
	}
}

// containerNames checks that all containers of a pod have different names and that their mounts refer to volumes.
func containerNames(r *report, s *corev1.PodSpec) {
	names := make(map[string]bool, len(s.Containers)+len(s.InitContainers))
	unique := func(name, list string, i int) {
		if name != "" && names[name] {
			r.duplicate(name, list, i, "name")
		}
		names[name] = true
	}
	for i := range s.Containers {
		unique(s.Containers[i].Name, "containers", i)
		mountsExist(r, s, s.Containers[i].VolumeMounts, s.Containers[i].VolumeDevices, "containers", i)
	}
	for i := range s.InitContainers {
		unique(s.InitContainers[i].Name, "initContainers", i)
		mountsExist(r, s, s.InitContainers[i].VolumeMounts, s.InitContainers[i].VolumeDevices, "initContainers", i)
	}
	for i := range s.EphemeralContainers {
		c := &s.EphemeralContainers[i]
		unique(c.Name, "ephemeralContainers", i)
		mountsExist(r, s, c.VolumeMounts, c.VolumeDevices, "ephemeralContainers", i)
		isTarget := func(o corev1.Container) bool { return o.Name == c.TargetContainerName }
		if c.TargetContainerName != "" && !slices.ContainsFunc(s.Containers, isTarget) {
			r.add(notFound(r.path("ephemeralContainers", i, "targetContainerName"), c.TargetContainerName))
		}
	}
}

const matchHostPort = "must match `hostPort` when `hostNetwork` is true"

// hostNetworkPorts checks that all ports of a pod with hostNetwork set hostPort. In a pod template
// the field may be missing.
func hostNetworkPorts(r *report, p *corev1.Pod) {
	if !p.Spec.HostNetwork {
		return
	}
	for i := range p.Spec.Containers {
		for j, port := range p.Spec.Containers[i].Ports {
			if port.HostPort == 0 && port.ContainerPort != 0 {
				r.invalid(port.ContainerPort, matchHostPort, "spec", "containers", i, "ports", j, "containerPort")
			}
		}
	}
}

// hostPorts rejects a host port that is used twice in a pod. With hostNetwork, it also rejects a
// containerPort that differs from its hostPort.
func hostPorts(r *report, s *corev1.PodSpec) {
	var taken []string
	for i := range s.Containers {
		for j, p := range s.Containers[i].Ports {
			if p.HostPort == 0 {
				continue
			}
			if s.HostNetwork && p.HostPort != p.ContainerPort {
				r.invalid(p.ContainerPort, matchHostPort, "containers", i, "ports", j, "containerPort")
			}
			id := fmt.Sprintf("%s/%s/%d", p.Protocol, p.HostIP, p.HostPort)
			if slices.Contains(taken, id) {
				r.duplicate(id, "containers", i, "ports", j, "hostPort")
			}
			taken = append(taken, id)
		}
	}
}

// initContainers rejects probes and lifecycle hooks of init containers. A sidecar, with restartPolicy Always, can have them.
func initContainers(r *report, s *corev1.PodSpec) {
	const never = "may not be set for init containers without restartPolicy=Always"
	for i := range s.InitContainers {
		c := &s.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			continue
		}
		if c.Lifecycle != nil {
			r.forbidden(never, "initContainers", i, "lifecycle")
		}
		if c.LivenessProbe != nil {
			r.forbidden(never, "initContainers", i, "livenessProbe")
		}
		if c.ReadinessProbe != nil {
			r.forbidden(never, "initContainers", i, "readinessProbe")
		}
		if c.StartupProbe != nil {
			r.forbidden(never, "initContainers", i, "startupProbe")
		}
	}
}

func podNetwork(r *report, s *corev1.PodSpec) {
	if s.DNSPolicy != corev1.DNSNone {
		return
	}
	if s.DNSConfig == nil {
		r.required(fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone), "dnsConfig")
		return
	}
	if len(s.DNSConfig.Nameservers) == 0 {
		r.required(fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone), "dnsConfig", "nameservers")
	}
}

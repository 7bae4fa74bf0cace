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
		each(func(r *report, p *corev1.Pod) {
			if r.create && len(p.Spec.EphemeralContainers) > 0 {
				r.forbidden("cannot be set on create", "spec", "ephemeralContainers")
			}
		}),
		each(ownPorts),
		each(func(r *report, t *corev1.PodTemplateSpec) {
			r.under(func() { labelSet(r, t.Labels) }, "metadata", "labels")
			if len(t.Annotations) > 0 {
				r.add(apivalidation.ValidateAnnotations(t.Annotations, r.path("metadata", "annotations")))
			}
			if len(t.Spec.EphemeralContainers) > 0 {
				r.forbidden("ephemeral containers not allowed in pod template", "spec", "ephemeralContainers")
			}
		}),

		need[corev1.PodSpec]("restartPolicy", ""),
		need[corev1.PodSpec]("dnsPolicy", ""),
		on[corev1.PodSpec]("terminationGracePeriodSeconds", nonNegative[int64]),
		on[corev1.PodSpec]("activeDeadlineSeconds", within[int64](1, math.MaxInt32)),
		on[corev1.PodSpec]("nodeSelector", labelSet),
		on[corev1.PodSpec]("serviceAccountName", dnsSubdomain),
		on[corev1.PodSpec]("nodeName", dnsSubdomain),
		on[corev1.PodSpec]("hostname", dnsLabel),
		on[corev1.PodSpec]("subdomain", dnsLabel),
		on[corev1.PodSpec]("priorityClassName", dnsSubdomain),
		on[corev1.PodSpec]("runtimeClassName", dnsSubdomain),
		on[corev1.PodSpec]("overhead", func(r *report, list corev1.ResourceList) {
			for _, name := range sortedNames(list) {
				r.under(func() { containerResource(r, name); quantity(r, list[name]) }, key(name))
			}
		}),
		each(containerNames),
		each(hostPorts),
		each(initContainers),
		each(podNetwork),

		free[corev1.HostAlias]("ip"),
		on[corev1.HostAlias]("ip", ip),
		on[corev1.HostAlias]("hostnames", items(dnsSubdomain)),
		on[corev1.PodDNSConfig]("nameservers", func(r *report, servers []string) {
			if len(servers) > 3 {
				r.invalid(servers, "must not have more than 3 nameservers")
			}
			items(ip)(r, servers)
		}),
		on[corev1.PodDNSConfig]("searches", func(r *report, domains []string) {
			if len(domains) > 32 {
				r.invalid(domains, "must not have more than 32 search paths")
			}
		}),
		need[corev1.PodDNSConfigOption]("name", "must not be empty"),
		need[corev1.PodOS]("name", "cannot be empty"),
		oneOf[corev1.PodOS]("name", "linux", "windows"),
		on[corev1.PodReadinessGate]("conditionType", text[corev1.PodConditionType](validation.IsQualifiedName)),
		on[corev1.PodSchedulingGate]("name", qualifiedName),
		on[corev1.PodSpec]("schedulingGates", func(r *report, gates []corev1.PodSchedulingGate) {
			for i, g := range gates {
				if slices.Contains(gates[:i], g) {
					r.duplicate(g.Name, i)
				}
			}
		}),
	}
}

// containerNames holds the names of a pod's containers of all sorts to be different, and its mounts to name volumes.
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
		mounted(r, s, s.Containers[i].VolumeMounts, s.Containers[i].VolumeDevices, "containers", i)
	}
	for i := range s.InitContainers {
		unique(s.InitContainers[i].Name, "initContainers", i)
		mounted(r, s, s.InitContainers[i].VolumeMounts, s.InitContainers[i].VolumeDevices, "initContainers", i)
	}
	for i := range s.EphemeralContainers {
		c := &s.EphemeralContainers[i]
		unique(c.Name, "ephemeralContainers", i)
		mounted(r, s, c.VolumeMounts, c.VolumeDevices, "ephemeralContainers", i)
		if c.TargetContainerName != "" && !slices.ContainsFunc(s.Containers, func(o corev1.Container) bool { return o.Name == c.TargetContainerName }) {
			r.add(notFound(r.path("ephemeralContainers", i, "targetContainerName"), c.TargetContainerName))
		}
	}
}

const matchHostPort = "must match `hostPort` when `hostNetwork` is true"

// ownPorts asks a pod in the host's network for the ports of the host; in a template they are filled in later.
func ownPorts(r *report, p *corev1.Pod) {
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

// hostPorts refuses one port of the host for two containers.
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

// initContainers refuses what only a container that stays can have; one that is restarted always stays.
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

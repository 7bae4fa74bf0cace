package rules

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

// podStatus checks an update of the status of a pod.
func podStatus(r *report, p *corev1.Pod) {
	old, ok := r.old.(*corev1.Pod)
	if !ok {
		return
	}
	if p.Spec.NodeName != old.Spec.NodeName {
		r.unchangeable("may not be changed directly", "status", "nodeName")
	}
	if name := p.Status.NominatedNodeName; name != "" && name != old.Status.NominatedNodeName {
		r.invalidAll(name, content.IsDNS1123Subdomain(name), "status", "nominatedNodeName")
		if old.Spec.NodeName != "" {
			r.forbidden("may not be set on pods that are already bound to a node", "status", "nominatedNodeName")
		}
	}
	if p.Status.ObservedGeneration < 0 {
		r.invalid(p.Status.ObservedGeneration, "must be a non-negative integer", "status", "observedGeneration")
	}
	if p.Status.QOSClass != old.Status.QOSClass {
		r.immutable(p.Status.QOSClass, "status", "qosClass")
	}
	spec := &old.Spec
	ended(r, "containerStatuses", old.Status.ContainerStatuses, p.Status.ContainerStatuses,
		func(s corev1.ContainerStatus) bool { return mayRestart(spec, spec.Containers, s) })
	ended(r, "initContainerStatuses", old.Status.InitContainerStatuses, p.Status.InitContainerStatuses,
		func(s corev1.ContainerStatus) bool { return mayRestart(spec, spec.InitContainers, s) })
	ended(r, "ephemeralContainerStatuses", old.Status.EphemeralContainerStatuses, p.Status.EphemeralContainerStatuses,
		func(corev1.ContainerStatus) bool { return false })
	podAddresses(r, "podIPs", p.Status.PodIPs, old.Status.PodIPs)
	if hosts := p.Status.HostIPs; len(hosts) > 0 && hosts[0].IP != p.Status.HostIP {
		r.invalid(hosts[0].IP, "must be equal to `hostIP`", "status", "hostIPs", 0, "ip")
	}
	podAddresses(r, "hostIPs", p.Status.HostIPs, old.Status.HostIPs)
}

// ended rejects statuses in which a container runs again although it has ended and may not be restarted.
func ended(r *report, name string, before, after []corev1.ContainerStatus, mayRestart func(corev1.ContainerStatus) bool) {
	for i, o := range before {
		if o.State.Terminated == nil || mayRestart(o) {
			continue
		}
		for _, n := range after {
			if n.Name == o.Name && n.State.Terminated == nil {
				r.forbidden("may not be transitioned to non-terminated state", "status", name, i, "state")
			}
		}
	}
}

// mayRestart reports whether a container that has ended may be restarted, by the policy of its pod or its own.
func mayRestart(spec *corev1.PodSpec, containers []corev1.Container, status corev1.ContainerStatus) bool {
	own := slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == status.Name && c.RestartPolicy != nil })
	switch {
	case own || spec.RestartPolicy == corev1.RestartPolicyAlways:
		return true
	case spec.RestartPolicy == corev1.RestartPolicyOnFailure:
		return status.State.Terminated.ExitCode != 0
	default:
		return false
	}
}

// podAddresses checks the addresses of a pod or its host: one, or one of each IP family. Stored addresses that are not
// valid may stay.
func podAddresses[A corev1.PodIP | corev1.HostIP](r *report, name string, after, before []A) {
	text := func(a A) string { return corev1.PodIP(a).IP }
	var known []string
	for _, a := range before {
		known = append(known, text(a))
	}
	families := map[bool]bool{}
	for i, a := range after {
		r.add(validation.IsValidIPForLegacyField(r.path("status", name, i), text(a), false, known))
		if parsed, err := netip.ParseAddr(text(a)); err == nil {
			families[parsed.Is4()] = true
		}
	}
	if len(after) > 1 && len(families) < len(after) {
		r.invalid(after, "may specify no more than one IP for each IP family", "status", name)
	}
}

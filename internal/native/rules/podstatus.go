package rules

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// podStatus checks an update of the status of a pod.
func podStatus(r *report, p *corev1.Pod) {
	old, ok := r.old.(*corev1.Pod)
	if !ok {
		return
	}
	r.under(func() {
		podPlace(r, p, old)
		podConditions(r, p.Status.Conditions)
		containerStates(r, p, old)
		podClaimStatuses(r, p)
		if p.Status.ExtendedResourceClaimStatus != nil {
			r.under(func() { extendedClaim(r, p) }, "extendedResourceClaimStatus")
		}
		podAddresses(r, "podIPs", p.Status.PodIPs, old.Status.PodIPs)
		if hosts := p.Status.HostIPs; len(hosts) > 0 && hosts[0].IP != p.Status.HostIP {
			r.invalid(hosts[0].IP, "must be equal to `hostIP`", "hostIPs", 0, "ip")
		}
		podAddresses(r, "hostIPs", p.Status.HostIPs, old.Status.HostIPs)
		containerStatuses(r, p)
	}, "status")
}

// podPlace checks the node and the QoS class in the status of a pod.
func podPlace(r *report, p, old *corev1.Pod) {
	if p.Spec.NodeName != old.Spec.NodeName {
		r.unchangeable("may not be changed directly", "nodeName")
	}
	if name := p.Status.NominatedNodeName; name != "" && name != old.Status.NominatedNodeName {
		r.invalidAll(name, content.IsDNS1123Subdomain(name), "nominatedNodeName")
		if old.Spec.NodeName != "" {
			r.forbidden("may not be set on pods that are already bound to a node", "nominatedNodeName")
		}
	}
	if p.Status.ObservedGeneration < 0 {
		r.invalid(p.Status.ObservedGeneration, "must be a non-negative integer", "observedGeneration")
	}
	if p.Status.QOSClass != old.Status.QOSClass {
		r.immutable(p.Status.QOSClass, "qosClass")
	}
}

func podConditions(r *report, conditions []corev1.PodCondition) {
	for i, c := range conditions {
		if c.ObservedGeneration < 0 {
			r.invalid(c.ObservedGeneration, "must be a non-negative integer", "conditions", i, "observedGeneration")
		}
		// Kubernetes writes this path so.
		r.invalidAll(c.Type, validation.IsQualifiedName(string(c.Type)), "conditions", i, "Type")
	}
}

// containerStates rejects statuses in which containers run again that may not be restarted.
func containerStates(r *report, p, old *corev1.Pod) {
	spec := &old.Spec
	if !restartsTogether(spec) {
		ended(r, "containerStatuses", old.Status.ContainerStatuses, p.Status.ContainerStatuses,
			func(s corev1.ContainerStatus) bool { return mayRestart(spec, spec.Containers, s) })
		ended(r, "initContainerStatuses", old.Status.InitContainerStatuses, p.Status.InitContainerStatuses,
			func(s corev1.ContainerStatus) bool { return mayRestart(spec, spec.InitContainers, s) })
	}
	ended(r, "ephemeralContainerStatuses", old.Status.EphemeralContainerStatuses, p.Status.EphemeralContainerStatuses,
		func(corev1.ContainerStatus) bool { return false })
}

// restartsTogether reports whether the end of one container can restart all containers of a pod.
func restartsTogether(s *corev1.PodSpec) bool {
	restartsAll := func(rule corev1.ContainerRestartRule) bool {
		return rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers
	}
	has := func(c corev1.Container) bool { return slices.ContainsFunc(c.RestartPolicyRules, restartsAll) }
	return slices.ContainsFunc(s.Containers, has) || slices.ContainsFunc(s.InitContainers, has)
}

// ended rejects statuses in which a container runs again although it has ended and may not be restarted.
func ended(r *report, name string, before, after []corev1.ContainerStatus, mayRestart func(corev1.ContainerStatus) bool) {
	for i, o := range before {
		if o.State.Terminated == nil || mayRestart(o) {
			continue
		}
		for _, n := range after {
			if n.Name == o.Name && n.State.Terminated == nil {
				r.forbidden("may not be transitioned to non-terminated state", name, i, "state")
			}
		}
	}
}

// mayRestart reports whether a container that has ended may be restarted: by the first of its rules that has its exit code, by
// its own policy, or by that of its pod.
func mayRestart(spec *corev1.PodSpec, containers []corev1.Container, status corev1.ContainerStatus) bool {
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == status.Name })
	if i < 0 {
		return false
	}
	code, policy := status.State.Terminated.ExitCode, string(spec.RestartPolicy)
	for _, rule := range containers[i].RestartPolicyRules {
		if rule.ExitCodes == nil || rule.Action != corev1.ContainerRestartRuleActionRestart {
			continue
		}
		isIn := rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn
		if slices.Contains(rule.ExitCodes.Values, code) == isIn {
			return true
		}
	}
	if own := containers[i].RestartPolicy; own != nil {
		policy = string(*own)
	}
	return policy == string(corev1.RestartPolicyAlways) || policy == string(corev1.RestartPolicyOnFailure) && code != 0
}

// podAddresses checks the addresses of a pod or its host: one, or one of each IP family. Stored addresses that are not
// valid may stay.
func podAddresses[A corev1.PodIP | corev1.HostIP](r *report, name string, after, before []A) {
	texts := func(list []A) []string {
		converted := make([]string, len(list))
		for i, a := range list {
			converted[i] = corev1.PodIP(a).IP
		}
		return converted
	}
	addresses := texts(after)
	r.under(func() {
		eachItem(knownIP(texts(before)...))(r, addresses)
		if len(addresses) < 2 {
			return
		}
		dual, err := netutils.IsDualStackIPStrings(addresses)
		if err != nil {
			r.add(field.ErrorList{field.InternalError(r.path(), fmt.Errorf("failed to check for dual stack with error:%w", err))})
		}
		if !dual || len(addresses) > 2 {
			r.invalid(after, "may specify no more than one IP for each IP family")
		}
	}, name)
}

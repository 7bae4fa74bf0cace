package rules

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func securityRules() []rule {
	id := within[int64](0, math.MaxInt32)
	return []rule{
		onField[corev1.SecurityContext]("runAsUser", id),
		onField[corev1.SecurityContext]("runAsGroup", id),
		onStruct(securityContext),
		onField[corev1.PodSecurityContext]("runAsUser", id),
		onField[corev1.PodSecurityContext]("runAsGroup", id),
		onField[corev1.PodSecurityContext]("fsGroup", id),
		onField[corev1.PodSecurityContext]("supplementalGroups", eachItem(id)),
		onField[corev1.PodSecurityContext]("sysctls", func(r *report, sysctls []corev1.Sysctl) {
			for i, s := range sysctls {
				if s.Name != "" && slices.ContainsFunc(sysctls[:i], func(o corev1.Sysctl) bool { return o.Name == s.Name }) {
					r.duplicate(s.Name, i, "name")
				}
			}
		}),
		notRequired[corev1.Sysctl]("value"),
		onField[corev1.Sysctl]("name", validSysctl),
		onStruct(func(r *report, p *corev1.SeccompProfile) {
			local := p.Type == corev1.SeccompProfileTypeLocalhost
			switch {
			case local && (p.LocalhostProfile == nil || *p.LocalhostProfile == ""):
				r.required("must be set when seccomp type is Localhost", "localhostProfile")
			case local:
				r.under(func() { descendingPath(r, *p.LocalhostProfile) }, "localhostProfile")
			case p.LocalhostProfile != nil:
				r.invalid(*p.LocalhostProfile, "can only be set when seccomp type is Localhost", "localhostProfile")
			}
		}),
		onStruct(func(r *report, p *corev1.AppArmorProfile) {
			local := p.Type == corev1.AppArmorProfileTypeLocalhost
			switch {
			case local && p.LocalhostProfile == nil:
				r.required("must be set when AppArmor type is Localhost", "localhostProfile")
			case !local && p.LocalhostProfile != nil:
				r.invalid(*p.LocalhostProfile, "can only be set when AppArmor type is Localhost", "localhostProfile")
			}
		}),
		onStruct(podSecurity),
	}
}

func securityContext(r *report, s *corev1.SecurityContext) {
	if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation {
		return
	}
	if s.Privileged != nil && *s.Privileged {
		r.invalid(s, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
	}
	if s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "CAP_SYS_ADMIN") {
		r.invalid(s, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
	}
}

// podSecurity checks the settings of a pod for process namespaces and for Windows host processes.
func podSecurity(r *report, s *corev1.PodSpec) {
	if s.ShareProcessNamespace != nil && *s.ShareProcessNamespace && s.HostPID {
		r.invalid(true, "ShareProcessNamespace and HostPID cannot both be enabled", "shareProcessNamespace")
	}
	pod := s.SecurityContext
	for i := range s.Containers {
		c := s.Containers[i].SecurityContext
		if !hostProcess(pod, c) {
			continue
		}
		if !s.HostNetwork {
			r.invalid(s.HostNetwork, "hostNetwork must be true if pod contains any hostProcess containers", "hostNetwork")
			return
		}
	}
}

// hostProcess reports whether a Windows container runs as a host process. The setting of the container takes precedence
// over that of the pod.
func hostProcess(pod *corev1.PodSecurityContext, own *corev1.SecurityContext) bool {
	if own != nil && own.WindowsOptions != nil && own.WindowsOptions.HostProcess != nil {
		return *own.WindowsOptions.HostProcess
	}
	return pod != nil && pod.WindowsOptions != nil && pod.WindowsOptions.HostProcess != nil && *pod.WindowsOptions.HostProcess
}

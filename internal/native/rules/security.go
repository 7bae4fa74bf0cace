package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"
)

func securityRules() []rule {
	id := within[int64](0, math.MaxInt32)
	return slices.Concat(windowsRules(), []rule{
		onField[corev1.SecurityContext]("runAsUser", id),
		onField[corev1.SecurityContext]("runAsGroup", id),
		onStruct(securityContext),
		onField[corev1.PodSecurityContext]("runAsUser", id),
		onField[corev1.PodSecurityContext]("runAsGroup", id),
		onField[corev1.PodSecurityContext]("fsGroup", id),
		onField[corev1.PodSecurityContext]("supplementalGroups", eachItem(id)),
		onField[corev1.PodSecurityContext]("sysctls", sysctls),
		notRequired[corev1.Sysctl]("value"),
		onField[corev1.Sysctl]("name", validSysctl),
		require[corev1.SeccompProfile]("type", "type is required when seccompProfile is set"),
		onStruct(func(r *report, p *corev1.SeccompProfile) {
			local := p.Type == corev1.SeccompProfileTypeLocalhost
			switch {
			case local && p.LocalhostProfile == nil:
				r.required("must be set when seccomp type is Localhost", "localhostProfile")
			case local:
				r.under(func() { descendingPath(r, *p.LocalhostProfile) }, "localhostProfile")
			case p.LocalhostProfile != nil:
				r.invalid(*p.LocalhostProfile, "can only be set when seccomp type is Localhost", "localhostProfile")
			}
		}),
		require[corev1.AppArmorProfile]("type", "type is required when appArmorProfile is set"),
		onStruct(appArmor),
		onStruct(podSecurity),
		onStruct(hostUsers),
	})
}

func securityContext(r *report, s *corev1.SecurityContext) {
	if s.ProcMount != nil && *s.ProcMount == corev1.UnmaskedProcMount && usesHostUsers(r.pod) {
		r.invalid(*s.ProcMount, "`hostUsers` must be false to use `Unmasked`", "procMount")
	}
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

func usesHostUsers(s *corev1.PodSpec) bool { return s.HostUsers == nil || *s.HostUsers }

func appArmor(r *report, p *corev1.AppArmorProfile) {
	const required, longest = "must be set when AppArmor type is Localhost", 4095
	profile := p.LocalhostProfile
	switch p.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		switch {
		case profile == nil || *profile == "":
			r.required(required, "localhostProfile")
		case strings.TrimSpace(*profile) != *profile:
			r.invalid(*profile, "must not be padded with whitespace", "localhostProfile")
		}
		if profile != nil && len(*profile) > longest {
			r.add(field.ErrorList{field.TooLong(r.path("localhostProfile"), "", longest)})
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if profile != nil {
			r.invalid(*profile, "can only be set when AppArmor type is Localhost", "localhostProfile")
		}
	}
}

// sysctls checks that a pod sets each kernel parameter once, and none that it shares with the host.
func sysctls(r *report, list []corev1.Sysctl) {
	isStored := r.oldPod != nil && r.oldPod.SecurityContext != nil &&
		slices.ContainsFunc(r.oldPod.SecurityContext.Sysctls, func(s corev1.Sysctl) bool { return sharedNamespace(r.oldPod, s.Name) != "" })
	for i, s := range list {
		isSame := func(o corev1.Sysctl) bool { return o.Name == s.Name }
		if isSysctl(s.Name) && slices.ContainsFunc(list[:i], isSame) {
			r.duplicate(s.Name, i, "name")
		}
		if shared := sharedNamespace(r.pod, s.Name); shared != "" && !isStored {
			r.invalid(s.Name, fmt.Sprintf("may not be specified when '%s' is true", shared), i, "name")
		}
	}
}

// sharedNamespace returns the field with which a pod shares the namespace of a kernel parameter with the host; "" if it does
// not share it.
func sharedNamespace(s *corev1.PodSpec, name string) string {
	switch namespace, _, _ := sysctl.GetNamespace(name); {
	case s.HostNetwork && namespace == sysctl.NetNamespace:
		return "hostNetwork"
	case s.HostIPC && namespace == sysctl.IPCNamespace:
		return "hostIPC"
	}
	return ""
}

// podSecurity checks the settings of a pod for process namespaces.
func podSecurity(r *report, s *corev1.PodSpec) {
	if s.ShareProcessNamespace != nil && *s.ShareProcessNamespace && s.HostPID {
		r.invalid(true, "ShareProcessNamespace and HostPID cannot both be enabled", "securityContext", "shareProcessNamespace")
	}
}

// hostUsers rejects what a pod with users of its own cannot have. Kubernetes writes the paths so.
func hostUsers(r *report, s *corev1.PodSpec) {
	if usesHostUsers(s) {
		return
	}
	refuseSet(r, "when `hostUsers` is false",
		setField{"hostNetwork", s.HostNetwork}, setField{"HostPID", s.HostPID}, setField{"HostIPC", s.HostIPC})
	if r.oldPod != nil && !usesHostUsers(r.oldPod) && hasDevices(r.oldPod) {
		return
	}
	eachContainer(r, s, func(c *corev1.Container) {
		refuseSet(r, "when `hostUsers` is false", setField{"volumeDevices", len(c.VolumeDevices) > 0})
	})
}

func hasDevices(s *corev1.PodSpec) bool {
	has := func(c corev1.Container) bool { return len(c.VolumeDevices) > 0 }
	return slices.ContainsFunc(s.Containers, has) || slices.ContainsFunc(s.InitContainers, has)
}

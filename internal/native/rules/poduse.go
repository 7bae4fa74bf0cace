package rules

import (
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podUseRules are the rules for what the containers of a pod use: claims for devices, names of hosts, restart rules.
func podUseRules() []rule {
	return []rule{
		onStruct(hostnameOverride),
		skip[corev1.PodSpec]("resourceClaims"),
		onStruct(podClaims),

		when("restartPolicy", func(r *report, _ *corev1.Container) bool { return listOf(r) != ephemeralContainers }),
		oneOf[corev1.Container]("restartPolicy", "Always", "Never", "OnFailure"),
		// Kubernetes does not check the rules of an init container without a policy.
		when("restartPolicyRules", func(r *report, c *corev1.Container) bool {
			return listOf(r) == containers || listOf(r) == initContainers && c.RestartPolicy != nil
		}),
		onField[corev1.Container]("restartPolicyRules", atMostItems[corev1.ContainerRestartRule](20)),
		onStruct(func(r *report, c *corev1.Container) {
			if c.RestartPolicy == nil && len(c.RestartPolicyRules) > 0 && listOf(r) != ephemeralContainers {
				r.required("must specify restartPolicy when restart rules are used", "restartPolicy")
			}
		}),
		exactly[corev1.ContainerRestartRuleOnExitCodes]("operator", "In", "NotIn"),
		onField[corev1.ContainerRestartRuleOnExitCodes]("values", atMostItems[int32](255)),
		require[corev1.ContainerRestartRule]("exitCodes", "must be specified"),
		exactly[corev1.ContainerRestartRule]("action", "Restart", "RestartAllContainers"),
	}
}

func subdomainName(r *report, s string) { r.invalidAll(s, validation.IsDNS1123Subdomain(s)) }

func hostnameOverride(r *report, s *corev1.PodSpec) {
	if s.HostnameOverride == nil {
		return
	}
	name := *s.HostnameOverride
	if s.SetHostnameAsFQDN != nil && *s.SetHostnameAsFQDN {
		r.forbidden("may not be specified when setHostnameAsFQDN is true", "hostnameOverride")
	}
	if s.HostNetwork {
		r.forbidden("may not be specified when hostNetwork is true", "hostnameOverride")
	}
	if len(name) > 64 {
		r.add(field.ErrorList{field.TooLong(r.path("hostnameOverride"), "", 64)})
	}
	r.invalidAll(name, validation.IsDNS1123Subdomain(name), "hostnameOverride")
}

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

func isSysctl(name string) bool { return len(name) <= 253 && sysctlName.MatchString(name) }

// validSysctl checks the name of a kernel parameter.
func validSysctl(r *report, name string) {
	if name != "" && !isSysctl(name) {
		r.invalid(name, fmt.Sprintf("must have at most 253 characters and match regex %s", sysctlName))
	}
}

package defaults

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func service(s *corev1.Service) {
	setDefault(&s.Spec.Type, corev1.ServiceTypeClusterIP)
	sessionAffinity(&s.Spec)
	forEach(s.Spec.Ports, func(p *corev1.ServicePort) {
		setDefault(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	})
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		setDefaultPtr(&s.Spec.AllocateLoadBalancerNodePorts, true)
		forEach(s.Status.LoadBalancer.Ingress, func(i *corev1.LoadBalancerIngress) {
			if i.IP != "" {
				setDefaultPtr(&i.IPMode, corev1.LoadBalancerIPModeVIP)
			}
		})
	}
	trafficPolicies(&s.Spec)
	ipFamilies(&s.Spec)
}

func sessionAffinity(s *corev1.ServiceSpec) {
	setDefault(&s.SessionAffinity, corev1.ServiceAffinityNone)
	switch s.SessionAffinity {
	case corev1.ServiceAffinityNone:
		s.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		setDefaultPtr(&s.SessionAffinityConfig, corev1.SessionAffinityConfig{})
		setDefaultPtr(&s.SessionAffinityConfig.ClientIP, corev1.ClientIPConfig{})
		setDefaultPtr(&s.SessionAffinityConfig.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)
	}
}

func trafficPolicies(s *corev1.ServiceSpec) {
	switch s.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		setDefault(&s.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
		setDefaultPtr(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	case corev1.ServiceTypeClusterIP:
		if len(s.ExternalIPs) > 0 {
			setDefault(&s.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
		}
		setDefaultPtr(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
}

// ipFamilies sets clusterIPs, ipFamilies and ipFamilyPolicy as in a cluster with IPv4 only. The families are those of the
// given cluster IPs. A headless Service without a selector gets both families, because the families of its endpoints are
// not known.
func ipFamilies(s *corev1.ServiceSpec) {
	switch s.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
	default:
		return
	}
	if len(s.ClusterIPs) == 0 && s.ClusterIP != "" {
		s.ClusterIPs = []string{s.ClusterIP}
	}
	headless := slices.Contains(s.ClusterIPs, corev1.ClusterIPNone)
	for i, ip := range s.ClusterIPs {
		if !headless && i == len(s.IPFamilies) {
			s.IPFamilies = append(s.IPFamilies, familyOf(ip))
		}
	}
	if len(s.IPFamilies) == 0 {
		s.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if headless && len(s.Selector) == 0 {
		setDefaultPtr(&s.IPFamilyPolicy, corev1.IPFamilyPolicyRequireDualStack)
		if *s.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && len(s.IPFamilies) == 1 {
			s.IPFamilies = append(s.IPFamilies, otherFamily(s.IPFamilies[0]))
		}
		return
	}
	setDefaultPtr(&s.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
}

func familyOf(ip string) corev1.IPFamily {
	if strings.Contains(ip, ":") {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

func otherFamily(f corev1.IPFamily) corev1.IPFamily {
	if f == corev1.IPv6Protocol {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

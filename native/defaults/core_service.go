package defaults

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func service(s *corev1.Service) {
	fill(&s.Spec.Type, corev1.ServiceTypeClusterIP)
	sessionAffinity(&s.Spec)
	each(s.Spec.Ports, func(p *corev1.ServicePort) {
		fill(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	})
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		fillPtr(&s.Spec.AllocateLoadBalancerNodePorts, true)
		each(s.Status.LoadBalancer.Ingress, func(i *corev1.LoadBalancerIngress) {
			if i.IP != "" {
				fillPtr(&i.IPMode, corev1.LoadBalancerIPModeVIP)
			}
		})
	}
	trafficPolicies(&s.Spec)
	ipFamilies(&s.Spec)
}

func sessionAffinity(s *corev1.ServiceSpec) {
	fill(&s.SessionAffinity, corev1.ServiceAffinityNone)
	switch s.SessionAffinity {
	case corev1.ServiceAffinityNone:
		s.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		fillPtr(&s.SessionAffinityConfig, corev1.SessionAffinityConfig{})
		fillPtr(&s.SessionAffinityConfig.ClientIP, corev1.ClientIPConfig{})
		fillPtr(&s.SessionAffinityConfig.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)
	}
}

func trafficPolicies(s *corev1.ServiceSpec) {
	switch s.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		fill(&s.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
		fillPtr(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	case corev1.ServiceTypeClusterIP:
		if len(s.ExternalIPs) > 0 {
			fill(&s.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
		}
		fillPtr(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
}

// ipFamilies completes the addresses and families of a service that has any, as a cluster with IPv4 alone does. The
// families follow the addresses that are given; a headless service without a selector is allowed both, since nobody
// knows the addresses of its endpoints.
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
		fillPtr(&s.IPFamilyPolicy, corev1.IPFamilyPolicyRequireDualStack)
		if *s.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && len(s.IPFamilies) == 1 {
			s.IPFamilies = append(s.IPFamilies, otherFamily(s.IPFamilies[0]))
		}
		return
	}
	if len(s.IPFamilies) > 1 {
		fillPtr(&s.IPFamilyPolicy, corev1.IPFamilyPolicyRequireDualStack)
	}
	fillPtr(&s.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
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

package defaults

import (
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

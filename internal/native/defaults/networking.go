package defaults

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

func networkPolicy(p *networkingv1.NetworkPolicy) {
	protocol := func(port *networkingv1.NetworkPolicyPort) { setDefaultPtr(&port.Protocol, corev1.ProtocolTCP) }
	for _, rule := range p.Spec.Ingress {
		forEach(rule.Ports, protocol)
	}
	for _, rule := range p.Spec.Egress {
		forEach(rule.Ports, protocol)
	}
	if len(p.Spec.PolicyTypes) > 0 {
		return
	}
	p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	if len(p.Spec.Egress) > 0 {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	}
}

func ingressClass(c *networkingv1.IngressClass) {
	if c.Spec.Parameters != nil {
		setDefaultPtr(&c.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

func endpointSlice(s *discoveryv1.EndpointSlice) {
	forEach(s.Ports, func(p *discoveryv1.EndpointPort) {
		setDefaultPtr(&p.Name, "")
		setDefaultPtr(&p.Protocol, corev1.ProtocolTCP)
	})
}

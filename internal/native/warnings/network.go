package warnings

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// ingressPath is the path of the addresses of a load balancer.
var ingressPath = field.NewPath("status", "loadBalancer", "ingress")

// ip warns about an IP address in a form that newer versions of Kubernetes refuse. Some fields
// may also hold other texts.
func (l *list) ip(path *field.Path, address string) {
	if netutils.ParseIPSloppy(address) != nil {
		*l = append(*l, validation.GetWarningsForIP(path, address)...)
	}
}

func (l *list) cidr(path *field.Path, block string) {
	if _, _, err := netutils.ParseCIDRSloppy(block); err == nil {
		*l = append(*l, validation.GetWarningsForCIDR(path, block)...)
	}
}

func (l *list) service(s *corev1.Service) {
	spec, path := &s.Spec, field.NewPath("spec")
	if _, ok := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; ok {
		l.add("annotation %s is deprecated, please use %s instead", corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode)
	}
	isHeadless := spec.ClusterIP == corev1.ClusterIPNone
	if spec.ClusterIP != "" && !isHeadless {
		for i, address := range spec.ClusterIPs {
			l.ip(path.Child("clusterIPs").Index(i), address)
		}
	}
	isHeadless = isHeadless && spec.Type == corev1.ServiceTypeClusterIP
	ignored := func(isSet bool, name string) {
		if isSet && isHeadless {
			l.add("spec.%s is ignored for headless services", name)
		}
	}
	ignored(spec.LoadBalancerIP != "", "loadBalancerIP")
	ignored(len(spec.ExternalIPs) > 0, "externalIPs")
	ignored(spec.SessionAffinity != corev1.ServiceAffinityNone, "SessionAffinity")
	for i, address := range spec.ExternalIPs {
		l.ip(path.Child("externalIPs").Index(i), address)
	}
	isExternalName := spec.Type == corev1.ServiceTypeExternalName
	if len(spec.ExternalIPs) > 0 && !isHeadless && !isExternalName {
		l.add("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	l.ip(path.Child("loadBalancerIP"), spec.LoadBalancerIP)
	for i, block := range spec.LoadBalancerSourceRanges {
		l.cidr(path.Child("loadBalancerSourceRanges").Index(i), block)
	}
	if isExternalName && len(spec.ExternalIPs) > 0 {
		l.add("spec.externalIPs is ignored when spec.type is %q", corev1.ServiceTypeExternalName)
	}
	if !isExternalName && spec.ExternalName != "" {
		l.add("spec.externalName is ignored when spec.type is not %q", corev1.ServiceTypeExternalName)
	}
	if spec.TrafficDistribution != nil && *spec.TrafficDistribution == corev1.ServiceTrafficDistributionPreferClose {
		l.at(path.Child("trafficDistribution"), fmt.Sprintf("%q is deprecated; use %q",
			corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone))
	}
}

func (l *list) endpoints(e *corev1.Endpoints) {
	// The controller writes addresses in their normal form only.
	if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
		return
	}
	for i := range e.Subsets {
		path := field.NewPath("subsets").Index(i)
		for j := range e.Subsets[i].Addresses {
			l.ip(path.Child("addresses").Index(j).Child("ip"), e.Subsets[i].Addresses[j].IP)
		}
		for j := range e.Subsets[i].NotReadyAddresses {
			l.ip(path.Child("notReadyAddresses").Index(j).Child("ip"), e.Subsets[i].NotReadyAddresses[j].IP)
		}
	}
}

func (l *list) endpointSlice(s *discoveryv1.EndpointSlice) {
	switch s.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return
	}
	for i := range s.Endpoints {
		for j, address := range s.Endpoints[i].Addresses {
			l.ip(field.NewPath("endpoints").Index(i).Child("addresses").Index(j), address)
		}
	}
}

func (l *list) ingress(i *networkingv1.Ingress) {
	const class = "kubernetes.io/ingress.class"
	if _, ok := i.Annotations[class]; ok && i.Spec.IngressClassName == nil {
		l.add("annotation %q is deprecated, please use 'spec.ingressClassName' instead", class)
	}
}

func (l *list) networkPolicy(p *networkingv1.NetworkPolicy) {
	peers := func(path *field.Path, peers []networkingv1.NetworkPolicyPeer) {
		for i := range peers {
			block := peers[i].IPBlock
			if block == nil {
				continue
			}
			at := path.Index(i).Child("ipBlock")
			l.cidr(at.Child("cidr"), block.CIDR)
			for j, except := range block.Except {
				l.cidr(at.Child("except").Index(j), except)
			}
		}
	}
	for i := range p.Spec.Ingress {
		peers(field.NewPath("spec", "ingress").Index(i).Child("from"), p.Spec.Ingress[i].From)
	}
	for i := range p.Spec.Egress {
		peers(field.NewPath("spec", "egress").Index(i).Child("to"), p.Spec.Egress[i].To)
	}
}

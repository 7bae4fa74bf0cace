package native

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// KeepAllotted lets a client leave out the addresses and node ports that its
// Service was given, and change its type without taking them out by hand.
func KeepAllotted(newSpec, oldSpec *corev1.ServiceSpec) {
	if newSpec.Type != oldSpec.Type {
		dropForType(newSpec, oldSpec)
	}
	if newSpec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if oldSpec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if newSpec.ClusterIP == "" {
		newSpec.ClusterIP = oldSpec.ClusterIP
	}
	if len(newSpec.ClusterIPs) == 0 && newSpec.ClusterIP == oldSpec.ClusterIP {
		newSpec.ClusterIPs = oldSpec.ClusterIPs
	}
	if !HasNodePorts(newSpec) {
		return
	}
	for i := range newSpec.Ports {
		port := &newSpec.Ports[i]
		same := slices.IndexFunc(oldSpec.Ports, func(old corev1.ServicePort) bool {
			return old.Port == port.Port && old.Protocol == port.Protocol
		})
		if port.NodePort == 0 && same >= 0 {
			port.NodePort = oldSpec.Ports[same].NodePort
		}
	}
}

// dropForType lets a Service change its type by that field alone: what the old
// type had and the new one cannot have goes, and what the client newly asks for
// stays to be refused.
func dropForType(newSpec, oldSpec *corev1.ServiceSpec) {
	if newSpec.Type == corev1.ServiceTypeExternalName {
		if newSpec.ClusterIP == oldSpec.ClusterIP {
			newSpec.ClusterIP, newSpec.ClusterIPs = "", nil
		}
		if slices.Equal(newSpec.IPFamilies, oldSpec.IPFamilies) {
			newSpec.IPFamilies, newSpec.IPFamilyPolicy = nil, nil
		}
	}
	outside := newSpec.Type == corev1.ServiceTypeNodePort || newSpec.Type == corev1.ServiceTypeLoadBalancer
	if !outside && newSpec.ExternalTrafficPolicy == oldSpec.ExternalTrafficPolicy {
		newSpec.ExternalTrafficPolicy = ""
	}
	if !outside && samePorts(newSpec.Ports, oldSpec.Ports) {
		for i := range newSpec.Ports {
			newSpec.Ports[i].NodePort = 0
		}
	}
	if newSpec.Type != corev1.ServiceTypeLoadBalancer {
		if newSpec.HealthCheckNodePort == oldSpec.HealthCheckNodePort {
			newSpec.HealthCheckNodePort = 0
		}
		if equalPointers(newSpec.AllocateLoadBalancerNodePorts, oldSpec.AllocateLoadBalancerNodePorts) {
			newSpec.AllocateLoadBalancerNodePorts = nil
		}
		if equalPointers(newSpec.LoadBalancerClass, oldSpec.LoadBalancerClass) {
			newSpec.LoadBalancerClass = nil
		}
	}
	if newSpec.Type != corev1.ServiceTypeExternalName && newSpec.ExternalName == oldSpec.ExternalName {
		newSpec.ExternalName = ""
	}
}

func samePorts(newPorts, oldPorts []corev1.ServicePort) bool {
	return slices.EqualFunc(newPorts, oldPorts, func(a, b corev1.ServicePort) bool { return a.NodePort == b.NodePort })
}

func equalPointers[T comparable](a, b *T) bool {
	return a == b || (a != nil && b != nil && *a == *b)
}

// HasNodePorts says whether a Service of this spec gets node ports.
func HasNodePorts(spec *corev1.ServiceSpec) bool {
	switch spec.Type {
	case corev1.ServiceTypeNodePort:
		return true
	case corev1.ServiceTypeLoadBalancer:
		return spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts
	}
	return false
}

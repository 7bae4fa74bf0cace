package native

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// KeepAllocated prepares the update of a Service. It copies the cluster IPs and node ports of
// the stored Service into newSpec where the client left them out. If the type changes, it
// removes the fields that the new type does not have, so that the client does not have to.
// The oldSpec of a new Service is empty.
func KeepAllocated(newSpec, oldSpec *corev1.ServiceSpec) {
	if newSpec.Type != oldSpec.Type && oldSpec.Type != "" {
		dropFieldsOfOldType(newSpec, oldSpec)
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
	if newSpec.HealthCheckNodePort == 0 && HasHealthPort(newSpec) && HasHealthPort(oldSpec) {
		newSpec.HealthCheckNodePort = oldSpec.HealthCheckNodePort
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

// HasHealthPort reports whether a Service with this spec has a health check node port.
func HasHealthPort(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// dropFieldsOfOldType removes the fields that the new type of the Service does not have, if
// they are unchanged. A field that the client changed stays, and validation rejects it.
func dropFieldsOfOldType(newSpec, oldSpec *corev1.ServiceSpec) {
	if newSpec.Type == corev1.ServiceTypeExternalName {
		if newSpec.ClusterIP == oldSpec.ClusterIP {
			newSpec.ClusterIP, newSpec.ClusterIPs = "", nil
		}
		if slices.Equal(newSpec.IPFamilies, oldSpec.IPFamilies) {
			newSpec.IPFamilies, newSpec.IPFamilyPolicy = nil, nil
		}
	}
	hasPorts := newSpec.Type == corev1.ServiceTypeNodePort || newSpec.Type == corev1.ServiceTypeLoadBalancer
	// A Service of type ClusterIP has a policy if it has external IPs.
	isExternal := hasPorts || newSpec.Type == corev1.ServiceTypeClusterIP && len(newSpec.ExternalIPs) > 0
	if !isExternal && newSpec.ExternalTrafficPolicy == oldSpec.ExternalTrafficPolicy {
		newSpec.ExternalTrafficPolicy = ""
	}
	if !hasPorts && sameNodePorts(newSpec.Ports, oldSpec.Ports) {
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

// sameNodePorts reports whether both lists have the same node ports in the same order.
func sameNodePorts(newPorts, oldPorts []corev1.ServicePort) bool {
	return slices.EqualFunc(newPorts, oldPorts, func(a, b corev1.ServicePort) bool { return a.NodePort == b.NodePort })
}

func equalPointers[T comparable](a, b *T) bool {
	return a == b || (a != nil && b != nil && *a == *b)
}

// HasNodePorts reports whether the server allocates node ports for a Service with this spec.
func HasNodePorts(spec *corev1.ServiceSpec) bool {
	switch spec.Type {
	case corev1.ServiceTypeNodePort:
		return true
	case corev1.ServiceTypeLoadBalancer:
		return spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts
	}
	return false
}

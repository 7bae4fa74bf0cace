package native

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// KeepAllocated prepares the update of a Service. It copies the cluster IPs and node ports of
// the stored Service into newSpec where the client left them out. It removes the fields that
// newSpec cannot have any more, so that the client does not have to. The oldSpec of a new Service
// is empty.
func KeepAllocated(newSpec, oldSpec *corev1.ServiceSpec) {
	dropUnused(newSpec, oldSpec)
	if newSpec.Type == corev1.ServiceTypeExternalName || oldSpec.Type == corev1.ServiceTypeExternalName {
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
	if isNodePortType(newSpec) && isNodePortType(oldSpec) {
		keepNodePorts(newSpec.Ports, oldSpec.Ports)
	}
}

// keepNodePorts copies the node ports of the stored ports with the same names, unless another
// port has the number now.
func keepNodePorts(newPorts, oldPorts []corev1.ServicePort) {
	stored := map[string]int32{}
	for _, port := range oldPorts {
		stored[port.Name] = port.NodePort
	}
	isUsed := func(number int32) bool {
		return slices.ContainsFunc(newPorts, func(port corev1.ServicePort) bool { return port.NodePort == number })
	}
	for i := range newPorts {
		if number := stored[newPorts[i].Name]; newPorts[i].NodePort == 0 && !isUsed(number) {
			newPorts[i].NodePort = number
		}
	}
}

// HasHealthPort reports whether a Service with this spec has a health check node port.
func HasHealthPort(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// dropUnused removes the fields that the stored Service uses and the new one does not, if they are
// unchanged. A field that the client changed stays, and validation rejects it.
func dropUnused(newSpec, oldSpec *corev1.ServiceSpec) {
	if oldSpec.Type == "" {
		return
	}
	if newSpec.Type == corev1.ServiceTypeExternalName && oldSpec.Type != corev1.ServiceTypeExternalName {
		if newSpec.ClusterIP == oldSpec.ClusterIP && slices.Equal(newSpec.ClusterIPs, oldSpec.ClusterIPs) {
			newSpec.ClusterIP, newSpec.ClusterIPs = "", nil
		}
		if slices.Equal(newSpec.IPFamilies, oldSpec.IPFamilies) {
			newSpec.IPFamilies = nil
		}
		if equalPointers(newSpec.IPFamilyPolicy, oldSpec.IPFamilyPolicy) {
			newSpec.IPFamilyPolicy = nil
		}
	}
	if isNodePortType(oldSpec) && !isNodePortType(newSpec) && addsNoNodePort(newSpec.Ports, oldSpec.Ports) {
		for i := range newSpec.Ports {
			newSpec.Ports[i].NodePort = 0
		}
	}
	if HasHealthPort(oldSpec) && !HasHealthPort(newSpec) && newSpec.HealthCheckNodePort == oldSpec.HealthCheckNodePort {
		newSpec.HealthCheckNodePort = 0
	}
	if oldSpec.Type == corev1.ServiceTypeLoadBalancer && newSpec.Type != corev1.ServiceTypeLoadBalancer {
		if equalPointers(newSpec.AllocateLoadBalancerNodePorts, oldSpec.AllocateLoadBalancerNodePorts) {
			newSpec.AllocateLoadBalancerNodePorts = nil
		}
		if equalPointers(newSpec.LoadBalancerClass, oldSpec.LoadBalancerClass) {
			newSpec.LoadBalancerClass = nil
		}
	}
	if isExternal(oldSpec) && !isExternal(newSpec) && newSpec.ExternalTrafficPolicy == oldSpec.ExternalTrafficPolicy {
		newSpec.ExternalTrafficPolicy = ""
	}
}

// dropUnusedFields is dropUnused for an update of a whole Service. A Service that is no load
// balancer any more has no address of one.
func dropUnusedFields(newObj, oldObj runtime.Object) {
	updated := newObj.(*corev1.Service)
	dropUnused(&updated.Spec, &oldObj.(*corev1.Service).Spec)
	if updated.Spec.Type != corev1.ServiceTypeLoadBalancer {
		updated.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

// isExternal reports whether clients outside of the cluster reach a Service.
func isExternal(spec *corev1.ServiceSpec) bool {
	return isNodePortType(spec) || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
}

// isNodePortType reports whether a Service has a type with node ports.
func isNodePortType(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

// addsNoNodePort reports whether every node port was one before.
func addsNoNodePort(newPorts, oldPorts []corev1.ServicePort) bool {
	return !slices.ContainsFunc(newPorts, func(port corev1.ServicePort) bool {
		return port.NodePort != 0 &&
			!slices.ContainsFunc(oldPorts, func(old corev1.ServicePort) bool { return old.NodePort == port.NodePort })
	})
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

package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"
)

func serviceRules() []rule {
	return []rule{
		require[corev1.ServiceSpec]("type", ""),
		require[corev1.ServiceSpec]("sessionAffinity", ""),
		onField[corev1.ServiceSpec]("selector", labelSet),
		oneOf[corev1.ServiceSpec]("trafficDistribution", "PreferClose", "PreferSameNode", "PreferSameZone"),
		exactly[corev1.ServiceSpec]("externalTrafficPolicy", "Cluster", "Local"),
		when("externalTrafficPolicy", func(_ *report, s *corev1.ServiceSpec) bool { return isExternal(s) && s.ExternalTrafficPolicy != "" }),
		onStruct(serviceType),
		onStruct(servicePorts),
		onStruct(sessionAffinity),
		onStruct(loadBalancer),
		onStruct(serviceAddresses),
		onStruct(serviceUpdate),

		onField[corev1.ServicePort]("name", dnsLabel),
		require[corev1.ServicePort]("protocol", ""),
		onField[corev1.ServicePort]("port", port),
		onField[corev1.ServicePort]("targetPort", portOrName),
		onField[corev1.ServicePort]("appProtocol", labelKey),
	}
}

// nonSpecialIP rejects unspecified, loopback and link-local addresses.
func nonSpecialIP(r *report, s string) {
	address := netutils.ParseIPSloppy(s)
	switch {
	case address == nil:
	case address.IsUnspecified():
		r.invalid(s, fmt.Sprintf("may not be unspecified (%v)", s))
	case address.IsLoopback():
		r.invalid(s, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	case address.IsLinkLocalUnicast():
		r.invalid(s, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	case address.IsLinkLocalMulticast():
		r.invalid(s, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	}
}

func isHeadless(s *corev1.ServiceSpec) bool {
	return len(s.ClusterIPs) == 1 && s.ClusterIPs[0] == corev1.ClusterIPNone
}

// serviceType checks the fields that a type of Service requires or does not allow.
func serviceType(r *report, s *corev1.ServiceSpec) {
	switch s.Type {
	case corev1.ServiceTypeExternalName:
		name := strings.TrimSuffix(s.ExternalName, ".")
		if name == "" {
			r.required("", "externalName")
		} else {
			r.invalidAll(s.ExternalName, validation.IsDNS1123Subdomain(name), "externalName")
		}
		refuseSet(r, "may not be set for ExternalName services", setField{"clusterIPs", len(s.ClusterIPs) > 0},
			setField{"ipFamilies", len(s.IPFamilies) > 0}, setField{"ipFamilyPolicy", s.IPFamilyPolicy != nil})
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if isHeadless(s) {
			r.invalid(s.ClusterIPs[0], fmt.Sprintf("may not be set to 'None' for %s services", s.Type), "clusterIPs", 0)
		}
	}
	if len(s.Ports) == 0 && !isHeadless(s) && s.Type != corev1.ServiceTypeExternalName {
		r.required("", "ports")
	}
}

func servicePorts(r *report, s *corev1.ServiceSpec) {
	for i, p := range s.Ports {
		if p.Name == "" && len(s.Ports) > 1 {
			r.required("", "ports", i, "name")
		}
		same := func(is func(o corev1.ServicePort) bool) bool { return slices.ContainsFunc(s.Ports[:i], is) }
		if p.Name != "" && same(func(o corev1.ServicePort) bool { return o.Name == p.Name }) {
			r.duplicate(p.Name, "ports", i, "name")
		}
		if same(func(o corev1.ServicePort) bool { return o.Port == p.Port && o.Protocol == p.Protocol }) {
			r.duplicate(corev1.ServicePort{Protocol: p.Protocol, Port: p.Port}, "ports", i)
		}
		if p.NodePort == 0 {
			continue
		}
		if s.Type == corev1.ServiceTypeClusterIP {
			r.forbidden("may not be used when `type` is 'ClusterIP'", "ports", i, "nodePort")
		}
		if same(func(o corev1.ServicePort) bool { return o.NodePort == p.NodePort && o.Protocol == p.Protocol }) {
			r.duplicate(p.NodePort, "ports", i, "nodePort")
		}
	}
}

func sessionAffinity(r *report, s *corev1.ServiceSpec) {
	const day, detail = 86400, "when session affinity type is ClientIP"
	if s.SessionAffinity != corev1.ServiceAffinityClientIP {
		return // without affinity, the defaults remove the configuration
	}
	switch config := s.SessionAffinityConfig; {
	case config == nil:
		r.required(detail, "sessionAffinityConfig")
	case config.ClientIP == nil:
		r.required(detail, "sessionAffinityConfig", "clientIP")
	case config.ClientIP.TimeoutSeconds == nil:
		r.required(detail, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
	case *config.ClientIP.TimeoutSeconds <= 0 || *config.ClientIP.TimeoutSeconds > day:
		r.invalid(*config.ClientIP.TimeoutSeconds, fmt.Sprintf("must be greater than 0 and less than %d", day),
			"sessionAffinityConfig", "clientIP", "timeoutSeconds")
	}
}

// isExternal reports whether clients outside of the cluster can reach a Service.
func isExternal(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeLoadBalancer || s.Type == corev1.ServiceTypeNodePort ||
		s.Type == corev1.ServiceTypeClusterIP && len(s.ExternalIPs) > 0
}

// needsHealthCheck reports whether a load balancer checks on each node whether the node has endpoints.
func needsHealthCheck(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeLoadBalancer && s.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// loadBalancer rejects fields of load balancers in Services of other types. externalTrafficPolicy
// is required for Services with external traffic and rejected for all others.
func loadBalancer(r *report, s *corev1.ServiceSpec) {
	balanced := s.Type == corev1.ServiceTypeLoadBalancer
	const only = "may only be used when `type` is 'LoadBalancer'"
	switch {
	case !balanced:
		// Kubernetes writes the name of the ranges so.
		refuseSet(r, only, setField{"LoadBalancerSourceRanges", len(s.LoadBalancerSourceRanges) > 0},
			setField{"allocateLoadBalancerNodePorts", s.AllocateLoadBalancerNodePorts != nil},
			setField{"loadBalancerClass", s.LoadBalancerClass != nil})
	case s.LoadBalancerClass != nil:
		r.invalidAll(*s.LoadBalancerClass, validation.IsQualifiedName(*s.LoadBalancerClass), "loadBalancerClass")
	}
	switch external := isExternal(s); {
	case !external && s.ExternalTrafficPolicy != "":
		r.invalid(s.ExternalTrafficPolicy, "may only be set for externally-accessible services", "externalTrafficPolicy")
	case external && s.ExternalTrafficPolicy == "":
		r.required("", "externalTrafficPolicy")
	}
	switch needed := needsHealthCheck(s); {
	case !needed && s.HealthCheckNodePort != 0:
		r.invalid(s.HealthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
			"healthCheckNodePort")
	case needed && s.HealthCheckNodePort != 0: // the server allocates a port if there is none
		r.invalidAll(s.HealthCheckNodePort, validation.IsValidPortNum(int(s.HealthCheckNodePort)), "healthCheckNodePort")
	}
	if s.InternalTrafficPolicy == nil && (balanced || s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeClusterIP) {
		r.required("", "internalTrafficPolicy")
	}
}

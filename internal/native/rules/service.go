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
		onField[corev1.ServiceSpec]("externalIPs", eachItem(ip, nonSpecialIP)),
		onStruct(func(r *report, s *corev1.ServiceSpec) {
			for i, block := range s.LoadBalancerSourceRanges {
				// Kubernetes writes this path so.
				r.under(func() { cidr(r, strings.TrimSpace(block)) }, "LoadBalancerSourceRanges", i)
			}
		}),
		onField[corev1.ServiceSpec]("loadBalancerClass", labelKey),
		oneOf[corev1.ServiceSpec]("trafficDistribution", "PreferClose", "PreferSameNode", "PreferSameZone"),
		onStruct(serviceType),
		onStruct(servicePorts),
		onStruct(sessionAffinity),
		onStruct(loadBalancer),
		onStruct(clusterIPs),

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
		r.invalid(s, "may not be unspecified (0.0.0.0 or ::)")
	case address.IsLoopback():
		r.invalid(s, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	case address.IsLinkLocalUnicast():
		r.invalid(s, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	case address.IsLinkLocalMulticast():
		r.invalid(s, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	}
}

// serviceType checks the fields that a type of Service requires or does not allow.
func serviceType(r *report, s *corev1.ServiceSpec) {
	headless := s.ClusterIP == corev1.ClusterIPNone
	switch s.Type {
	case corev1.ServiceTypeExternalName:
		name := strings.TrimSuffix(s.ExternalName, ".")
		if name == "" {
			r.required("", "externalName")
		} else {
			r.invalidAll(s.ExternalName, validation.IsDNS1123Subdomain(name), "externalName")
		}
		if s.ClusterIP != "" {
			r.forbidden("may not be set when `type` is 'ExternalName'", "clusterIP")
		}
		if len(s.ClusterIPs) > 0 {
			r.forbidden("may not be set for ExternalName services", "clusterIPs")
		}
		if len(s.IPFamilies) > 0 {
			r.forbidden("may not be set for ExternalName services", "ipFamilies")
		}
		if s.IPFamilyPolicy != nil {
			r.forbidden("may not be set for ExternalName services", "ipFamilyPolicy")
		}
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if headless {
			r.invalid(s.ClusterIP, fmt.Sprintf("may not be set to 'None' for %s services", s.Type), "clusterIP")
		}
	}
	if len(s.Ports) == 0 && !headless && s.Type != corev1.ServiceTypeExternalName {
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
	const day = 86400
	if s.SessionAffinity != corev1.ServiceAffinityClientIP {
		return // without affinity, the defaults remove the configuration
	}
	config := s.SessionAffinityConfig
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		r.required("when session affinity type is ClientIP", "sessionAffinityConfig")
		return
	}
	if n := *config.ClientIP.TimeoutSeconds; n <= 0 || n > day {
		r.invalid(n, fmt.Sprintf("must be greater than 0 and less than %d", day), "sessionAffinityConfig", "clientIP", "timeoutSeconds")
	}
}

// loadBalancer rejects fields of load balancers in Services of other types. externalTrafficPolicy
// is required for Services with external traffic and rejected for all others.
func loadBalancer(r *report, s *corev1.ServiceSpec) {
	balanced := s.Type == corev1.ServiceTypeLoadBalancer
	const only = "may only be used when `type` is 'LoadBalancer'"
	if !balanced && len(s.LoadBalancerSourceRanges) > 0 {
		r.forbidden(only, "loadBalancerSourceRanges")
	}
	if !balanced && s.AllocateLoadBalancerNodePorts != nil {
		r.forbidden(only, "allocateLoadBalancerNodePorts")
	}
	if !balanced && s.LoadBalancerClass != nil {
		r.forbidden(only, "loadBalancerClass")
	}
	external := balanced || s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeClusterIP && len(s.ExternalIPs) > 0
	local := s.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	switch {
	case !external && s.ExternalTrafficPolicy != "":
		r.invalid(s.ExternalTrafficPolicy, "may only be set for externally-accessible services", "externalTrafficPolicy")
	case external && s.ExternalTrafficPolicy == "":
		r.required("", "externalTrafficPolicy")
	}
	if s.HealthCheckNodePort != 0 && !(balanced && local) {
		r.invalid(s.HealthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
			"healthCheckNodePort")
	}
}

// clusterIPs checks clusterIPs, which begins with clusterIP, and the IP families.
func clusterIPs(r *report, s *corev1.ServiceSpec) {
	if s.Type == corev1.ServiceTypeExternalName {
		return
	}
	addresses := s.ClusterIPs
	switch {
	case s.ClusterIP == "" && len(addresses) > 0:
		r.invalid(addresses, "must be empty when `clusterIP` is not specified", "clusterIPs")
	case s.ClusterIP != "" && len(addresses) == 0:
		r.required("", "clusterIPs")
	case s.ClusterIP != "" && addresses[0] != s.ClusterIP:
		r.invalid(addresses, "first value must match `clusterIP`", "clusterIPs")
	}
	for i, family := range s.IPFamilies {
		if slices.Contains(s.IPFamilies[:i], family) {
			r.duplicate(family, "ipFamilies", i)
		}
	}
	before := len(r.errs)
	isHeadless := len(addresses) > 0 && addresses[0] == corev1.ClusterIPNone
	if isHeadless && len(addresses) > 1 {
		r.invalid(addresses, "'None' must be the first and only value", "clusterIPs")
	}
	for i, address := range addresses {
		if i > 0 || !isHeadless {
			r.under(func() { ip(r, address) }, "clusterIPs", i)
		}
	}
	isInvalid := len(r.errs) > before
	if len(addresses) > 2 {
		r.invalid(addresses, "may only hold up to 2 values", "clusterIPs")
	}
	if isInvalid {
		return
	}
	if dual, err := netutils.IsDualStackIPStrings(addresses); len(addresses) > 1 && (err != nil || !dual) {
		r.invalid(addresses, "may specify no more than one IP for each IP family", "clusterIPs")
	}
	if isHeadless {
		return
	}
	for i, address := range addresses[:min(len(addresses), len(s.IPFamilies))] {
		if family := s.IPFamilies[i]; (family == corev1.IPv6Protocol) != netutils.IsIPv6String(address) {
			r.invalid(address, fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", family, i), "clusterIPs", i)
		}
	}
}

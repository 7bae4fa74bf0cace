package rules

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

const (
	maxEndpoints     = 1000
	maxEndpointPorts = 20000
	maxAddresses     = 100
	maxHints         = 8
)

func endpointRules() []rule {
	return []rule{
		notRequired[corev1.EndpointAddress]("ip"),
		onField[corev1.EndpointAddress]("ip", ip, nonSpecialIP, func(r *report, s string) {
			if netutils.ParseIPSloppy(s) == nil {
				r.invalid(s, "must be a valid IP address")
			}
		}),
		onField[corev1.EndpointAddress]("hostname", dnsLabel),
		onField[corev1.EndpointAddress]("nodeName", subdomainName),
		onField[corev1.EndpointPort]("name", dnsLabel),
		onField[corev1.EndpointPort]("port", port),
		require[corev1.EndpointPort]("protocol", ""),
		onField[corev1.EndpointPort]("appProtocol", labelKey),
		onStruct(func(r *report, s *corev1.EndpointSubset) {
			if len(s.Addresses)+len(s.NotReadyAddresses) == 0 {
				r.required("must specify `addresses` or `notReadyAddresses`")
			}
			for i, p := range s.Ports {
				if p.Name == "" && len(s.Ports) > 1 {
					r.required("", "ports", i, "name")
				}
			}
		}),

		onStruct(func(r *report, e *corev1.Endpoints) {
			old, ok := r.old.(*corev1.Endpoints)
			if ok && r.hasErrors("subsets") && apiequality.Semantic.DeepEqual(old.Subsets, e.Subsets) {
				r.forget("subsets")
			}
		}),

		when("endpoints", func(_ *report, s *discoveryv1.EndpointSlice) bool { return len(s.Endpoints) <= maxEndpoints }),
		when("ports", func(_ *report, s *discoveryv1.EndpointSlice) bool { return len(s.Ports) <= maxEndpointPorts }),
		onStruct(endpointSlice),
		notRequired[discoveryv1.ForZone]("name"),
		notRequired[discoveryv1.ForNode]("name"),
		onField[discoveryv1.EndpointHints]("forZones", zoneHints),
		onField[discoveryv1.EndpointHints]("forNodes", nodeHints),
		onField[discoveryv1.Endpoint]("nodeName", subdomainName),
		require[discoveryv1.Endpoint]("addresses", "must contain at least 1 address"),
		onField[discoveryv1.Endpoint]("hostname", func(r *report, s string) { r.invalidAll(s, validation.IsDNS1123Label(s)) }),
		require[discoveryv1.EndpointPort]("protocol", ""),
		onField[discoveryv1.EndpointPort]("name", dnsLabel),
		onField[discoveryv1.EndpointPort]("appProtocol", labelKey),
	}
}

func endpointSlice(r *report, s *discoveryv1.EndpointSlice) {
	if len(s.Endpoints) > maxEndpoints {
		r.add(field.ErrorList{field.TooMany(r.path("endpoints"), len(s.Endpoints), maxEndpoints)})
	} else {
		for i := range s.Endpoints {
			r.under(func() { endpointAddresses(r, s.AddressType, s.Endpoints[i].Addresses) }, "endpoints", i, "addresses")
		}
	}
	if old, ok := r.old.(*discoveryv1.EndpointSlice); ok && r.hasErrors("endpoints") && apiequality.Semantic.DeepEqual(old.Endpoints, s.Endpoints) {
		r.forget("endpoints")
	}
	if len(s.Ports) > maxEndpointPorts {
		r.add(field.ErrorList{field.TooMany(r.path("ports"), len(s.Ports), maxEndpointPorts)})
		return
	}
	name := func(p discoveryv1.EndpointPort) string {
		if p.Name == nil {
			return ""
		}
		return *p.Name
	}
	for i, p := range s.Ports {
		if slices.ContainsFunc(s.Ports[:i], func(o discoveryv1.EndpointPort) bool { return name(o) == name(p) }) {
			r.duplicate(name(p), "ports", i, "name")
		}
	}
}

func endpointAddresses(r *report, kind discoveryv1.AddressType, addresses []string) {
	atMostItems[string](maxAddresses)(r, addresses)
	for i, s := range addresses {
		var errs field.ErrorList
		switch path := r.path(i); kind {
		case discoveryv1.AddressTypeFQDN:
			r.add(validation.IsFullyQualifiedDomainName(path, s))
			continue
		case discoveryv1.AddressTypeIPv4:
			errs = validation.IsValidIPForLegacyField(path, s, true, nil)
		case discoveryv1.AddressTypeIPv6:
			errs = validation.IsValidIP(path, s)
		default:
			continue // another check rejects the type
		}
		if r.add(errs); len(errs) > 0 {
			continue
		}
		if isIPv6 := netutils.IsIPv6String(s); isIPv6 != (kind == discoveryv1.AddressTypeIPv6) {
			r.invalid(s, fmt.Sprintf("must be an %s address", kind)) // Kubernetes leaves out the index
		}
		r.under(func() { nonSpecialIP(r, s) }, i)
	}
}

// zoneHints checks the zones for which an endpoint is best.
func zoneHints(r *report, zones []discoveryv1.ForZone) {
	atMostItems[discoveryv1.ForZone](maxHints)(r, zones)
	for i, zone := range zones[:min(len(zones), maxHints)] {
		if slices.Contains(zones[:i], zone) {
			r.duplicate(zone.Name, i, "name")
		}
		r.invalidAll(zone.Name, validation.IsValidLabelValue(zone.Name), i, "name")
	}
}

// nodeHints checks the nodes for which an endpoint is best.
func nodeHints(r *report, nodes []discoveryv1.ForNode) {
	atMostItems[discoveryv1.ForNode](maxHints)(r, nodes)
	for i, node := range nodes[:min(len(nodes), maxHints)] {
		if slices.Contains(nodes[:i], node) {
			r.duplicate(node.Name, i, "name")
		}
		r.invalidAll(node.Name, apivalidation.NameIsDNSSubdomain(node.Name, false), i, "name")
	}
}

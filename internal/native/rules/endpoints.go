package rules

import (
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

const (
	maxEndpoints     = 1000
	maxEndpointPorts = 20000
	maxAddresses     = 100
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
		onField[corev1.EndpointAddress]("nodeName", dnsSubdomain),
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

		onStruct(endpointSlice),
		require[discoveryv1.Endpoint]("addresses", "must contain at least 1 address"),
		onField[discoveryv1.Endpoint]("hostname", dnsLabel),
		onField[discoveryv1.Endpoint]("nodeName", dnsSubdomain),
		require[discoveryv1.EndpointPort]("protocol", ""),
		onField[discoveryv1.EndpointPort]("name", dnsLabel),
		onField[discoveryv1.EndpointPort]("port", port),
		onField[discoveryv1.EndpointPort]("appProtocol", labelKey),
	}
}

func endpointSlice(r *report, s *discoveryv1.EndpointSlice) {
	if len(s.Endpoints) > maxEndpoints {
		r.add(field.ErrorList{field.TooMany(r.path("endpoints"), len(s.Endpoints), maxEndpoints)})
		return
	}
	for i := range s.Endpoints {
		addresses := s.Endpoints[i].Addresses
		if len(addresses) > maxAddresses {
			r.add(field.ErrorList{field.TooMany(r.path("endpoints", i, "addresses"), len(addresses), maxAddresses)})
		}
		for j, a := range addresses {
			r.under(func() { endpointAddress(r, s.AddressType, a) }, "endpoints", i, "addresses", j)
		}
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

func endpointAddress(r *report, kind discoveryv1.AddressType, s string) {
	switch kind {
	case discoveryv1.AddressTypeFQDN:
		r.add(validation.IsFullyQualifiedDomainName(r.path(), s))
		return
	case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6:
	default:
		return // another check rejects the type
	}
	before := len(r.errs)
	ip(r, s)
	if len(r.errs) > before {
		return
	}
	isIPv4 := net.ParseIP(s).To4() != nil
	switch {
	case kind == discoveryv1.AddressTypeIPv4 && !isIPv4:
		r.invalid(s, "must be an IPv4 address")
	case kind == discoveryv1.AddressTypeIPv6 && isIPv4:
		r.invalid(s, "must be an IPv6 address")
	}
	nonSpecialIP(r, s)
}

package rules

import (
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

// addressRules are the rules for the ranges of cluster IPs and the addresses in use.
func addressRules() []rule {
	return []rule{
		onField[networkingv1.ParentReference]("group", dnsSubdomain),
		onField[networkingv1.ParentReference]("namespace", validString[string](content.IsPathSegmentName)),
		onStruct(serviceRanges),
	}
}

// serviceRanges checks a new ServiceCIDR: it has one range, or one of each IP family. An update may only add the second
// range, so that addresses in use stay in a range.
func serviceRanges(r *report, c *networkingv1.ServiceCIDR) {
	old, updated := r.old.(*networkingv1.ServiceCIDR)
	ranges := c.Spec.CIDRs
	switch {
	case !updated:
		newRanges(r, c)
		return
	case len(ranges) == len(old.Spec.CIDRs):
	case len(old.Spec.CIDRs) == 1 && len(ranges) == 2:
		defer newRanges(r, c)
	default:
		r.immutable(ranges, "spec", "cidrs")
		return
	}
	for i, before := range old.Spec.CIDRs {
		if ranges[i] != before {
			r.immutable(ranges[i], "spec", "cidrs", i)
		}
	}
}

func newRanges(r *report, c *networkingv1.ServiceCIDR) {
	ranges := c.Spec.CIDRs
	switch {
	case len(ranges) == 0:
		r.required("at least one CIDR required", "spec", "cidrs")
		return
	case len(ranges) > 2:
		r.invalid(ranges, "may only hold up to 2 values", "spec", "cidrs")
		return
	}
	var families []bool
	for i, text := range ranges {
		r.add(validation.IsValidCIDR(r.path("spec", "cidrs", i), text))
		if prefix, err := netip.ParsePrefix(text); err == nil {
			families = append(families, prefix.Addr().Is4())
		}
	}
	if len(families) == 2 && families[0] == families[1] {
		r.invalid(ranges, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64", "spec", "cidrs")
	}
}

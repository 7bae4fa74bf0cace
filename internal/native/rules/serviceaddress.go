package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"
)

// serviceAddresses checks the addresses of a Service. Those that it has already may stay.
func serviceAddresses(r *report, s *corev1.ServiceSpec) {
	var stored corev1.ServiceSpec
	if old, ok := r.old.(*corev1.Service); ok {
		stored = old.Spec
	}
	for i, address := range s.ExternalIPs {
		r.under(func() {
			before := len(r.errs)
			knownIP(stored.ExternalIPs...)(r, address)
			if len(r.errs) == before {
				nonSpecialIP(r, address)
			}
		}, "externalIPs", i)
	}
	var ranges []string
	for _, block := range stored.LoadBalancerSourceRanges {
		ranges = append(ranges, strings.TrimSpace(block))
	}
	for i, block := range s.LoadBalancerSourceRanges {
		// Kubernetes writes this path so.
		r.under(func() { knownCIDR(ranges...)(r, strings.TrimSpace(block)) }, "LoadBalancerSourceRanges", i)
	}
	if s.Type != corev1.ServiceTypeExternalName {
		clusterIPs(r, s, stored.ClusterIPs)
	}
}

// clusterIPs checks clusterIPs, which begins with clusterIP, and the IP families.
func clusterIPs(r *report, s *corev1.ServiceSpec, stored []string) {
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
	startsWithNone := len(addresses) > 0 && addresses[0] == corev1.ClusterIPNone
	if startsWithNone && len(addresses) > 1 {
		r.invalid(addresses, "'None' must be the first and only value", "clusterIPs")
	}
	for i, address := range addresses {
		if i > 0 || !startsWithNone {
			r.under(func() { knownIP(stored...)(r, address) }, "clusterIPs", i)
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
	if startsWithNone {
		return
	}
	for i, address := range addresses[:min(len(addresses), len(s.IPFamilies))] {
		family, isIPv6 := s.IPFamilies[i], netutils.IsIPv6String(address)
		if family == corev1.IPv4Protocol && isIPv6 || family == corev1.IPv6Protocol && !isIPv6 {
			r.invalid(address, fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", family, i), "clusterIPs", i)
		}
	}
}

// serviceUpdate checks what an update of a Service changes. It can add or release a second address, but not replace one.
func serviceUpdate(r *report, s *corev1.Service) {
	stored, ok := r.old.(*corev1.Service)
	if !ok {
		return
	}
	old, updated := &stored.Spec, &s.Spec
	r.under(func() {
		if old.Type == corev1.ServiceTypeLoadBalancer && updated.Type == old.Type && !equalPointers(old.LoadBalancerClass, updated.LoadBalancerClass) {
			r.unchangeableValue(updated.LoadBalancerClass, "may not change once set", "loadBalancerClass")
		}
		if needsHealthCheck(old) && needsHealthCheck(updated) && old.HealthCheckNodePort != updated.HealthCheckNodePort {
			r.unchangeable("field is immutable", "healthCheckNodePort")
		}
		if old.Type == corev1.ServiceTypeExternalName || updated.Type == corev1.ServiceTypeExternalName {
			return
		}
		if !isHeadless(old) || !isHeadless(updated) {
			keptAddresses(r, updated, keptList{"clusterIPs", "clusterIP", old.ClusterIPs, updated.ClusterIPs})
		}
		if !isHeadless(old) && !isHeadless(updated) {
			keptAddresses(r, updated, keptList{"ipFamilies", "ipFamily", texts(old.IPFamilies), texts(updated.IPFamilies)})
		}
	}, "spec")
}

// keptList is a list of addresses or IP families before and after an update.
type keptList struct {
	field, item string
	old, now    []string
}

func keptAddresses(r *report, s *corev1.ServiceSpec, l keptList) {
	changed := func(i int) {
		switch {
		case l.field == "ipFamilies":
			i = 0 // Kubernetes names the first family for all
		case i == 0 && s.ClusterIP != l.old[0]:
			return // clusterIP has the same change, and is frozen
		}
		r.unchangeableValue(l.now, "may not change once set", l.field, i)
	}
	if len(l.old) == len(l.now) {
		for i := range l.old {
			if l.old[i] != l.now[i] {
				changed(i)
			}
		}
		return
	}
	if len(l.old) > len(l.now) && len(s.ClusterIPs) == 0 {
		r.unchangeableValue(l.now, "primary "+l.item+" can not be unset", l.field, 0)
	}
	if len(l.old) > 0 && len(l.now) > 0 && l.old[0] != l.now[0] {
		changed(0)
	}
	isSingle := s.IPFamilyPolicy != nil && *s.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
	if len(l.old) > len(l.now) && len(l.now) == 1 && !isSingle {
		r.invalid(s.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary "+l.item, "ipFamilyPolicy")
	}
}

func texts[S ~string](list []S) []string {
	converted := make([]string, len(list))
	for i, s := range list {
		converted[i] = string(s)
	}
	return converted
}

func equalPointers[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

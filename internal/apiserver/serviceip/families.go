package serviceip

import (
	"net/netip"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setFamilies sets clusterIPs, ipFamilies and ipFamilyPolicy where the client left them out, as in a
// cluster with IPv4 only. The families are those of the cluster IPs. A headless Service without a
// selector gets both families, because the families of its endpoints are not known. An update keeps the
// stored policy.
func setFamilies(spec, old *corev1.ServiceSpec) {
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if len(spec.ClusterIPs) == 0 && spec.ClusterIP != "" {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	isHeadless := spec.ClusterIP == corev1.ClusterIPNone
	addresses, _ := addressesOf(spec)
	for i, address := range addresses {
		if i == len(spec.IPFamilies) {
			spec.IPFamilies = append(spec.IPFamilies, familyOf(address))
		}
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	isFree := isHeadless && len(spec.Selector) == 0
	if spec.IPFamilyPolicy == nil {
		policy := corev1.IPFamilyPolicySingleStack
		switch {
		case old.IPFamilyPolicy != nil:
			policy = *old.IPFamilyPolicy
		case isFree:
			policy = corev1.IPFamilyPolicyRequireDualStack
		}
		spec.IPFamilyPolicy = &policy
	}
	if isFree && *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && len(spec.IPFamilies) == 1 {
		spec.IPFamilies = append(spec.IPFamilies, otherFamily(spec.IPFamilies[0]))
	}
}

func familyOf(address netip.Addr) corev1.IPFamily {
	if address.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func otherFamily(family corev1.IPFamily) corev1.IPFamily {
	if family == corev1.IPv6Protocol {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// checkFamilies refuses a Service that needs addresses of another IP family than IPv4, in the words
// of Kubernetes for a cluster with one family. The server would give the Service only one address. An update
// that leaves the families, the policy and the addresses alone is not checked.
func checkFamilies(spec, old *corev1.ServiceSpec) field.ErrorList {
	if spec.Type == corev1.ServiceTypeExternalName || spec.Type == old.Type && spec.ClusterIP == old.ClusterIP &&
		slices.Equal(spec.ClusterIPs, old.ClusterIPs) && slices.Equal(spec.IPFamilies, old.IPFamilies) &&
		reflect.DeepEqual(spec.IPFamilyPolicy, old.IPFamilyPolicy) {
		return nil
	}
	addresses, ok := addressesOf(spec)
	if !ok {
		return nil
	}
	path := field.NewPath("spec")
	if len(addresses) == 2 && addresses[0].Is4() == addresses[1].Is4() {
		return field.ErrorList{field.Invalid(path.Child("clusterIPs"), spec.ClusterIPs, "may specify no more than one IP for each IP family")}
	}
	policy := corev1.IPFamilyPolicySingleStack
	if spec.IPFamilyPolicy != nil {
		policy = *spec.IPFamilyPolicy
	}
	var errs field.ErrorList
	refuse := func(why string) {
		errs = append(errs, field.Invalid(path.Child("ipFamilyPolicy"), policy, why))
	}
	if policy == corev1.IPFamilyPolicySingleStack {
		const must = "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
		switch {
		case len(addresses) == 2:
			refuse(must + "cluster IPs are specified")
		case len(spec.IPFamilies) == 2:
			refuse(must + "IP families are specified")
		}
	}
	for i, address := range addresses {
		if !address.Is4() {
			errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(i), spec.ClusterIPs, "IPv6 is not configured on this cluster"))
		}
	}
	if len(errs) > 0 || spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0 {
		// A headless Service without a selector has endpoints that its owner chooses.
		return errs
	}
	if policy == corev1.IPFamilyPolicyRequireDualStack {
		refuse("this cluster is not configured for dual-stack services")
	}
	for i, family := range spec.IPFamilies {
		if family == corev1.IPv6Protocol {
			errs = append(errs, field.Invalid(path.Child("ipFamilies").Index(i), family, "not configured on this cluster"))
		}
	}
	return errs
}

// addressesOf returns the addresses that a Service names. It reports false for a list that the validation
// refuses for another reason.
func addressesOf(spec *corev1.ServiceSpec) (addresses []netip.Addr, ok bool) {
	if len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] != spec.ClusterIP || len(spec.ClusterIPs) > 2 {
		return nil, false
	}
	for _, text := range spec.ClusterIPs {
		if text == corev1.ClusterIPNone {
			continue
		}
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, false
		}
		addresses = append(addresses, address)
	}
	return addresses, true
}

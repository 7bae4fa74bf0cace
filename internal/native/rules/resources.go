package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

func resourceRules() []rule {
	return []rule{
		notRequired[corev1.ResourceClaim]("name"),
		onStruct(func(r *report, q *corev1.ResourceRequirements) { requirements(r, q, containerResource) }),
		skip[corev1.PodSpec]("resources"),
		onStruct(podLevelResources),
	}
}

// requirements checks resources: names are known, quantities are not negative, and requests do not exceed limits.
func requirements(r *report, q *corev1.ResourceRequirements, checkName func(*report, corev1.ResourceName)) {
	quantities(r, q.Limits, "limits", checkName)
	quantities(r, q.Requests, "requests", checkName)
	for _, name := range sortedNames(q.Requests) {
		request := q.Requests[name]
		limit, limited := q.Limits[name]
		switch {
		case !limited && !overcommitAllowed(name):
			r.required("Limit must be set for non overcommitable resources", "limits")
		case limited && request.Cmp(limit) != 0 && !overcommitAllowed(name):
			r.invalid(request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String()), "requests")
		case limited && request.Cmp(limit) > 0:
			r.invalid(request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()), "requests")
		}
	}
	names := slices.Concat(sortedNames(q.Limits), sortedNames(q.Requests))
	isCompute := func(name corev1.ResourceName) bool {
		return name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	if slices.ContainsFunc(names, isHugePages) && !slices.ContainsFunc(names, isCompute) {
		r.forbidden("HugePages require cpu or memory")
	}
	if r.pod != nil {
		resourceClaims(r, q.Claims, r.pod.ResourceClaims)
	}
}

func quantities(r *report, list corev1.ResourceList, field string, checkName func(*report, corev1.ResourceName)) {
	for _, name := range sortedNames(list) {
		r.under(func() {
			checkName(r, name)
			resourceQuantity(r, name, list[name])
			if isHugePages(name) && !isWholePages(name, list[name]) && !hasPartialPages(r.oldPod) {
				q := list[name]
				r.invalid(q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name))
			}
		}, field, key(name))
	}
}

// resourceQuantity checks that a quantity is not negative, and that it is an integer if the resource is counted.
func resourceQuantity(r *report, name corev1.ResourceName, q resource.Quantity) {
	quantity(r, q)
	if isCounted(name) && !isInteger(q) {
		r.invalid(q.String(), "must be an integer")
	}
}

func containerResource(r *report, name corev1.ResourceName) {
	resourceName(r, name)
	switch {
	case !strings.Contains(string(name), "/"):
		if !standardContainerResource(name) {
			r.invalid(string(name), "must be a standard resource for containers")
		}
	case !isNative(name) && !isExtended(name):
		r.invalid(string(name), "doesn't follow extended resource name standard")
	}
}

// resourceName checks the form of the name of a resource. It reports whether the name is valid.
func resourceName(r *report, name corev1.ResourceName) bool {
	if messages := validation.IsQualifiedName(string(name)); len(messages) > 0 {
		r.invalidAll(string(name), messages)
		return false
	}
	if !strings.Contains(string(name), "/") && !standardResource(name) {
		r.invalid(string(name), "must be a standard resource type or fully qualified")
		return false
	}
	return true
}

// standardResource reports whether Kubernetes has a resource of this name, for containers or for quotas.
func standardResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceStorage || standardContainerResource(name) || standardQuotaResource(name)
}

func standardContainerResource(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	default:
		return isHugePages(name)
	}
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isNative reports whether a resource belongs to Kubernetes.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// isExtended reports whether the name of a resource is one of a device. A quota adds the prefix "requests." to it.
func isExtended(name corev1.ResourceName) bool {
	const prefix = corev1.DefaultResourceRequestsPrefix
	return !isNative(name) && !strings.HasPrefix(string(name), prefix) && len(validation.IsQualifiedName(prefix+string(name))) == 0
}

// isCounted reports whether a resource is measured in integers.
func isCounted(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers, corev1.ResourceSecrets,
		corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	}
	return isExtended(name)
}

// isWholePages reports whether a quantity of huge pages is a multiple of their size, which their name ends with.
func isWholePages(name corev1.ResourceName, q resource.Quantity) bool {
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	return err == nil && size.Sign() > 0 && isInteger(size) && q.Value()%size.Value() == 0
}

// hasPartialPages reports whether a stored pod has quantities that isWholePages rejects. They may stay.
func hasPartialPages(s *corev1.PodSpec) bool {
	if s == nil {
		return false
	}
	isPartial := func(list corev1.ResourceList) bool {
		for name, q := range list {
			if isHugePages(name) && !isWholePages(name, q) {
				return true
			}
		}
		return false
	}
	has := func(c corev1.Container) bool { return isPartial(c.Resources.Limits) || isPartial(c.Resources.Requests) }
	return isPartial(s.Overhead) || slices.ContainsFunc(s.Containers, has) || slices.ContainsFunc(s.InitContainers, has)
}

// overcommitAllowed reports whether a request may be lower than its limit. It may not for huge pages and extended
// resources.
func overcommitAllowed(name corev1.ResourceName) bool { return isNative(name) && !isHugePages(name) }

func quantity(r *report, q resource.Quantity) {
	if q.Sign() < 0 {
		r.invalid(q.String(), notNegative)
	}
}

func isInteger(q resource.Quantity) bool { return q.MilliValue()%1000 == 0 }

func sortedNames[V any](list map[corev1.ResourceName]V) []corev1.ResourceName {
	if len(list) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(list))
}

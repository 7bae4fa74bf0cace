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
	return []rule{onStruct(resourceRequirements)}
}

// resourceRequirements checks the resources of a container: names are known, quantities are not negative, and requests do
// not exceed limits.
func resourceRequirements(r *report, q *corev1.ResourceRequirements) {
	quantities(r, q.Limits, "limits")
	quantities(r, q.Requests, "requests")
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
}

func quantities(r *report, list corev1.ResourceList, field string) {
	for _, name := range sortedNames(list) {
		r.under(func() { containerResource(r, name); quantity(r, list[name]) }, field, key(name))
		if !overcommitAllowed(name) && !isInteger(list[name]) {
			r.invalid(list[name], "must be an integer", field, key(name))
		}
	}
}

func containerResource(r *report, name corev1.ResourceName) {
	if messages := validation.IsQualifiedName(string(name)); len(messages) > 0 {
		r.invalidAll(string(name), messages)
		return
	}
	if strings.Contains(string(name), "/") {
		return
	}
	if !standardResource(name) {
		r.invalid(string(name), "must be a standard resource type or fully qualified")
	}
	if !standardContainerResource(name) {
		r.invalid(string(name), "must be a standard resource for containers")
	}
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
		return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	}
}

// overcommitAllowed reports whether a request may be lower than its limit. It may not for huge pages and extended
// resources.
func overcommitAllowed(name corev1.ResourceName) bool {
	if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
		return false
	}
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), "kubernetes.io/")
}

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

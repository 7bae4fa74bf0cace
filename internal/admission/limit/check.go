package limit

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelpers "k8s.io/component-helpers/resource"
)

// subject is the container, pod or claim that is checked.
type subject struct {
	limitType        corev1.LimitType
	requests, limits corev1.ResourceList
}

// checkPod checks a pod, or each of its containers, against one item of a LimitRange.
func checkPod(pod *corev1.Pod, item corev1.LimitRangeItem) []error {
	switch item.Type {
	case corev1.LimitTypeContainer:
		var errs []error
		for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			errs = append(errs, subject{item.Type, container.Resources.Requests, container.Resources.Limits}.check(item)...)
		}
		return errs
	case corev1.LimitTypePod:
		// The overhead of a pod does not count, because its author does not choose it.
		options := resourcehelpers.PodResourcesOptions{ExcludeOverhead: true}
		return subject{item.Type, resourcehelpers.PodRequests(pod, options), resourcehelpers.PodLimits(pod, options)}.check(item)
	default:
		return nil
	}
}

// checkClaim checks a claim against one item of a LimitRange. A claim has requests, but
// no limits.
func checkClaim(claim *corev1.PersistentVolumeClaim, item corev1.LimitRangeItem) []error {
	if item.Type != corev1.LimitTypePersistentVolumeClaim {
		return nil
	}
	s := subject{limitType: item.Type, requests: claim.Spec.Resources.Requests}
	errs := s.checkMin(item.Min)
	for _, name := range sorted(item.Max) {
		bound := item.Max[name]
		rule := s.rule("maximum", name, bound)
		switch request, ok := s.requests[name]; {
		case !ok:
			errs = append(errs, fmt.Errorf("%s.  No request is specified", rule))
		case request.Cmp(bound) > 0:
			errs = append(errs, fmt.Errorf("%s, but request is %s", rule, request.String()))
		}
	}
	return errs
}

// check returns all violations, with the wording of Kubernetes.
func (s subject) check(item corev1.LimitRangeItem) []error {
	return slices.Concat(s.checkMin(item.Min), s.checkMax(item.Max), s.checkRatio(item.MaxLimitRequestRatio))
}

// rule returns the first part of an error message.
func (s subject) rule(bound string, name corev1.ResourceName, quantity resource.Quantity) string {
	return fmt.Sprintf("%s %s usage per %s is %s", bound, name, s.limitType, quantity.String())
}

func (s subject) checkMin(bounds corev1.ResourceList) []error {
	var errs []error
	for _, name := range sorted(bounds) {
		request, requested := s.requests[name]
		limit, limited := s.limits[name]
		bound := bounds[name]
		rule := s.rule("minimum", name, bound)
		switch {
		case !requested:
			errs = append(errs, fmt.Errorf("%s.  No request is specified", rule))
		case request.Cmp(bound) < 0:
			errs = append(errs, fmt.Errorf("%s, but request is %s", rule, request.String()))
		case limited && limit.Cmp(bound) < 0:
			errs = append(errs, fmt.Errorf("%s, but limit is %s", rule, limit.String()))
		}
	}
	return errs
}

func (s subject) checkMax(bounds corev1.ResourceList) []error {
	var errs []error
	for _, name := range sorted(bounds) {
		request, requested := s.requests[name]
		limit, limited := s.limits[name]
		bound := bounds[name]
		rule := s.rule("maximum", name, bound)
		switch {
		case !limited:
			errs = append(errs, fmt.Errorf("%s.  No limit is specified", rule))
		case limit.Cmp(bound) > 0:
			errs = append(errs, fmt.Errorf("%s, but limit is %s", rule, limit.String()))
		case requested && request.Cmp(bound) > 0:
			errs = append(errs, fmt.Errorf("%s, but request is %s", rule, request.String()))
		}
	}
	return errs
}

func (s subject) checkRatio(ratios corev1.ResourceList) []error {
	var errs []error
	for _, name := range sorted(ratios) {
		request, limit, bound := s.requests[name], s.limits[name], ratios[name]
		rule := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, s.limitType, bound.String())
		switch {
		case request.IsZero():
			errs = append(errs, fmt.Errorf("%s, but no request is specified or request is 0", rule))
		case limit.IsZero():
			errs = append(errs, fmt.Errorf("%s, but no limit is specified or limit is 0", rule))
		default:
			if ratio := divide(limit, request); ratio*1000 > float64(bound.MilliValue()) {
				errs = append(errs, fmt.Errorf("%s, but provided ratio is %f", rule, ratio))
			}
		}
	}
	return errs
}

// divide divides the milli values of the quantities, which are integers, so that the
// result is exact if they divide evenly. It divides the plain values if the milli
// values would overflow.
func divide(limit, request resource.Quantity) float64 {
	if limit.Value() > resource.MaxMilliValue || request.Value() > resource.MaxMilliValue {
		return float64(limit.Value()) / float64(request.Value())
	}
	return float64(limit.MilliValue()) / float64(request.MilliValue())
}

func sorted(list corev1.ResourceList) []corev1.ResourceName { return slices.Sorted(maps.Keys(list)) }

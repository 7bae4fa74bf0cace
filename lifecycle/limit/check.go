package limit

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelpers "k8s.io/component-helpers/resource"
)

// subject is what one limit is about.
type subject struct {
	// what is the kind of limit, as messages name it.
	what             corev1.LimitType
	requests, limits corev1.ResourceList
}

// checkPod holds a pod, or each of its containers, to a limit.
func checkPod(pod *corev1.Pod, item corev1.LimitRangeItem) []error {
	switch item.Type {
	case corev1.LimitTypeContainer:
		var errs []error
		for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			errs = append(errs, check(subject{item.Type, container.Resources.Requests, container.Resources.Limits}, item)...)
		}
		return errs
	case corev1.LimitTypePod:
		// What a pod costs beyond its containers is not its author's choice.
		options := resourcehelpers.PodResourcesOptions{ExcludeOverhead: true}
		return check(subject{item.Type, resourcehelpers.PodRequests(pod, options), resourcehelpers.PodLimits(pod, options)}, item)
	default:
		return nil
	}
}

// checkClaim holds a claim to a limit. Claims have requests alone.
func checkClaim(claim *corev1.PersistentVolumeClaim, item corev1.LimitRangeItem) []error {
	if item.Type != corev1.LimitTypePersistentVolumeClaim {
		return nil
	}
	s := subject{what: item.Type, requests: claim.Spec.Resources.Requests}
	errs := s.atLeast(item.Min)
	for _, name := range sorted(item.Max) {
		most := item.Max[name]
		switch request, ok := s.requests[name]; {
		case !ok:
			errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, s.what, most.String()))
		case request.Cmp(most) > 0:
			errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, s.what, most.String(), request.String()))
		}
	}
	return errs
}

// check gives all violations of a limit, in Kubernetes' words.
func check(s subject, item corev1.LimitRangeItem) []error {
	return slices.Concat(s.atLeast(item.Min), s.atMost(item.Max), s.inProportion(item.MaxLimitRequestRatio))
}

func (s subject) atLeast(least corev1.ResourceList) []error {
	var errs []error
	for _, name := range sorted(least) {
		request, requested := s.requests[name]
		limit, limited := s.limits[name]
		bound := least[name]
		switch {
		case !requested:
			errs = append(errs, fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, s.what, bound.String()))
		case request.Cmp(bound) < 0:
			errs = append(errs, fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, s.what, bound.String(), request.String()))
		case limited && limit.Cmp(bound) < 0:
			errs = append(errs, fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, s.what, bound.String(), limit.String()))
		}
	}
	return errs
}

func (s subject) atMost(most corev1.ResourceList) []error {
	var errs []error
	for _, name := range sorted(most) {
		request, requested := s.requests[name]
		limit, limited := s.limits[name]
		bound := most[name]
		switch {
		case !limited:
			errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, s.what, bound.String()))
		case limit.Cmp(bound) > 0:
			errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, s.what, bound.String(), limit.String()))
		case requested && request.Cmp(bound) > 0:
			errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, s.what, bound.String(), request.String()))
		}
	}
	return errs
}

func (s subject) inProportion(ratios corev1.ResourceList) []error {
	var errs []error
	for _, name := range sorted(ratios) {
		request, limit, most := s.requests[name], s.limits[name], ratios[name]
		rule := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, s.what, most.String())
		switch {
		case request.IsZero():
			errs = append(errs, fmt.Errorf("%s, but no request is specified or request is 0", rule))
		case limit.IsZero():
			errs = append(errs, fmt.Errorf("%s, but no limit is specified or limit is 0", rule))
		default:
			if ratio := divide(limit, request); ratio*1000 > float64(most.MilliValue()) {
				errs = append(errs, fmt.Errorf("%s, but provided ratio is %f", rule, ratio))
			}
		}
	}
	return errs
}

// divide takes quantities as whole numbers, so that what divides evenly does: as
// thousandths, unless they are too many.
func divide(limit, request resource.Quantity) float64 {
	if limit.Value() > resource.MaxMilliValue || request.Value() > resource.MaxMilliValue {
		return float64(limit.Value()) / float64(request.Value())
	}
	return float64(limit.MilliValue()) / float64(request.MilliValue())
}

func sorted(list corev1.ResourceList) []corev1.ResourceName { return slices.Sorted(maps.Keys(list)) }

package rules

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"
)

// podLevelResources checks the resources of a pod as a whole.
func podLevelResources(r *report, s *corev1.PodSpec) {
	switch {
	case s.Resources == nil:
	case s.OS != nil && s.OS.Name == corev1.Windows:
		r.forbidden("may not be set for a windows pod", "resources")
	default:
		r.under(func() {
			if s.Resources.Claims != nil {
				r.forbidden("claims may not be set for Resources at pod-level", "claims")
			}
			requirements(r, s.Resources, podResource)
			aggregatedResources(r, s)
		}, "resources")
	}
}

func podResource(r *report, name corev1.ResourceName) {
	if resourceName(r, name) && !resourcehelper.IsSupportedPodLevelResource(name) {
		r.unsupported(name, []string{"cpu", corev1.ResourceHugePagesPrefix, "memory"})
	}
}

// aggregatedResources checks that the resources of a pod are enough for those of its containers.
func aggregatedResources(r *report, s *corev1.PodSpec) {
	pod := &corev1.Pod{Spec: *s}
	exceeded := func(most resource.Quantity, list corev1.ResourceList, name corev1.ResourceName) bool {
		value, ok := list[name]
		return ok && most.Cmp(value) > 0
	}
	requests := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range sortedNames(requests) {
		if sum := requests[name]; exceeded(sum, s.Resources.Requests, name) {
			request := s.Resources.Requests[name]
			r.invalid(request.String(), "must be greater than or equal to aggregate container requests of "+sum.String(), "requests", key(name))
		}
	}
	limits := resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range sortedNames(limits) {
		if sum := limits[name]; isHugePages(name) && exceeded(sum, s.Resources.Limits, name) {
			limit := s.Resources.Limits[name]
			r.invalid(limit.String(), "must be greater than or equal to aggregate container limits of "+sum.String(), "limits", key(name))
		}
	}
	for i := range s.Containers {
		own := s.Containers[i].Resources.Limits
		for _, name := range sortedNames(own) {
			if limit := own[name]; exceeded(limit, s.Resources.Limits, name) {
				most := s.Resources.Limits[name]
				// Kubernetes writes this path so.
				r.invalid(limit.String(), "must be less than or equal to pod limits of "+most.String(), containers, i, key(name), "limits")
			}
		}
	}
}

// resourceClaims checks that a container uses claims of its pod, each of them, or each request in it, once.
func resourceClaims(r *report, claims []corev1.ResourceClaim, ofPod []corev1.PodResourceClaim) {
	var known, used []string
	for _, c := range ofPod {
		if c.Name != "" {
			known = append(known, c.Name)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for i, claim := range claims {
		if claim.Name == "" {
			r.required("", "claims", i)
			continue
		}
		id := claim.Name
		if claim.Request != "" {
			id += "/" + claim.Request
		}
		overlaps := func(other string) bool {
			return other == id || other == claim.Name || claim.Request == "" && strings.HasPrefix(other, claim.Name+"/")
		}
		if slices.ContainsFunc(used, overlaps) {
			r.duplicate(id, "claims", i)
		}
		if !slices.Contains(used, claim.Name) && claim.Request != "" {
			r.invalidAll(claim.Request, validation.IsDNS1123Label(claim.Request), "claims", i, "request")
		}
		used = append(used, id)
		if slices.Contains(known, claim.Name) {
			continue
		}
		err := field.NotFound(r.path("claims", i), claim.Name)
		err.Detail = "must be one of the names in pod.spec.resourceClaims which is empty"
		if len(known) > 0 {
			err.Detail = "must be one of the names in pod.spec.resourceClaims: " + strings.Join(known, ", ")
		}
		r.add(field.ErrorList{err})
	}
}

// podClaims checks that the claims of a pod have different names. The mirror of a static pod can have none.
func podClaims(r *report, s *corev1.PodSpec) {
	for i, claim := range s.ResourceClaims {
		if r.owner != nil && isStatic(r.owner) {
			r.add(field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support resource claims")})
			continue
		}
		r.under(func() { podClaim(r, s.ResourceClaims[:i], claim) }, "resourceClaims", i)
	}
}

func podClaim(r *report, before []corev1.PodResourceClaim, claim corev1.PodResourceClaim) {
	switch {
	case claim.Name == "":
		r.required("", "name")
	case slices.ContainsFunc(before, func(c corev1.PodResourceClaim) bool { return c.Name == claim.Name }):
		r.duplicate(claim.Name, "name")
	default:
		r.invalidAll(claim.Name, validation.IsDNS1123Label(claim.Name), "name")
	}
	switch named, generated := claim.ResourceClaimName != nil, claim.ResourceClaimTemplateName != nil; {
	case named && generated:
		r.invalid(claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
	case !named && !generated:
		r.invalid(claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
	}
	if name := claim.ResourceClaimName; name != nil {
		r.invalidAll(*name, validation.IsDNS1123Subdomain(*name), "resourceClaimName")
	}
	if name := claim.ResourceClaimTemplateName; name != nil {
		r.invalidAll(*name, validation.IsDNS1123Subdomain(*name), "resourceClaimTemplateName")
	}
}

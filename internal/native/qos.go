package native

import (
	corev1 "k8s.io/api/core/v1"
)

// QualityOfService returns the QoS class of a pod. It is Guaranteed if every container has
// CPU and memory limits, and its requests equal the limits or are not set. It is BestEffort
// if no container sets a CPU or memory request or limit, and Burstable otherwise. If the pod
// itself sets resources (spec.resources), these count instead of those of its containers.
func QualityOfService(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, anySet := true, false
	for _, resources := range resourcesOf(spec) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, requested := resources.Requests[name]
			limit, limited := resources.Limits[name]
			if (requested && !request.IsZero()) || (limited && !limit.IsZero()) {
				anySet = true
			}
			if !limited || limit.IsZero() || (requested && request.Cmp(limit) != 0) {
				guaranteed = false
			}
		}
	}
	switch {
	case !anySet:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

// resourcesOf returns the resources that count for the QoS class.
func resourcesOf(spec *corev1.PodSpec) []*corev1.ResourceRequirements {
	if r := spec.Resources; r != nil && len(r.Requests)+len(r.Limits) > 0 {
		return []*corev1.ResourceRequirements{r}
	}
	var all []*corev1.ResourceRequirements
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			all = append(all, &containers[i].Resources)
		}
	}
	return all
}

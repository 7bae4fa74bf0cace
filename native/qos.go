package native

import (
	corev1 "k8s.io/api/core/v1"
)

// QualityOfService is the class that requests and limits put a pod in:
// Guaranteed when every container has equal cpu and memory limits and
// requests, BestEffort when none names any, Burstable otherwise. Resources of
// the pod as a whole stand for those of its containers.
func QualityOfService(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, named := true, false
	for _, resources := range resourcesOf(spec) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, requested := resources.Requests[name]
			limit, limited := resources.Limits[name]
			if (requested && !request.IsZero()) || (limited && !limit.IsZero()) {
				named = true
			}
			if !limited || limit.IsZero() || (requested && request.Cmp(limit) != 0) {
				guaranteed = false
			}
		}
	}
	switch {
	case !named:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

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

package native

import (
	corev1 "k8s.io/api/core/v1"
)

// qualityOfService is the class that requests and limits put a pod in:
// Guaranteed when every container has equal cpu and memory limits and
// requests, BestEffort when none names any, Burstable otherwise.
func qualityOfService(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, named := true, false
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			resources := &containers[i].Resources
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

package limit

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// annotation is the annotation of a pod that lists the defaults that were set.
const annotation = "kubernetes.io/limit-ranger"

// setDefaults sets the default requests and limits of a LimitRange in the containers
// of a pod that do not specify them.
func setDefaults(pod *corev1.Pod, limits *corev1.LimitRange) {
	defaults := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	for _, item := range limits.Spec.Limits {
		if item.Type == corev1.LimitTypeContainer {
			fill(defaults.Requests, item.DefaultRequest)
			fill(defaults.Limits, item.Default)
		}
	}
	var set []string
	for i := range pod.Spec.Containers {
		set = append(set, complete(&pod.Spec.Containers[i], "container", defaults)...)
	}
	for i := range pod.Spec.InitContainers {
		set = append(set, complete(&pod.Spec.InitContainers[i], "init container", defaults)...)
	}
	if len(set) == 0 {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[annotation] = "LimitRanger plugin set: " + strings.Join(set, "; ")
}

// complete sets the default resources of a container. It returns descriptions of what
// it set, for the annotation.
func complete(container *corev1.Container, role string, defaults corev1.ResourceRequirements) []string {
	if container.Resources.Requests == nil && len(defaults.Requests) > 0 {
		container.Resources.Requests = corev1.ResourceList{}
	}
	if container.Resources.Limits == nil && len(defaults.Limits) > 0 {
		container.Resources.Limits = corev1.ResourceList{}
	}
	var set []string
	if names := fill(container.Resources.Requests, defaults.Requests); len(names) > 0 {
		set = append(set, fmt.Sprintf("%s request for %s %s", strings.Join(names, ", "), role, container.Name))
	}
	if names := fill(container.Resources.Limits, defaults.Limits); len(names) > 0 {
		set = append(set, fmt.Sprintf("%s limit for %s %s", strings.Join(names, ", "), role, container.Name))
	}
	return set
}

// fill adds the defaults that list does not have and returns their sorted names.
func fill(list, defaults corev1.ResourceList) []string {
	var names []string
	for name, quantity := range defaults {
		if _, found := list[name]; !found {
			list[name] = quantity.DeepCopy()
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

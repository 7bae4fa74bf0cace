package rules

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/native"
)

// ValidateEphemeralContainers validates an update of the ephemeral containers of a pod. Containers can be added, but neither
// changed nor removed.
func ValidateEphemeralContainers(newPod, oldPod *corev1.Pod) field.ErrorList {
	if isStatic(oldPod) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	r := &report{errs: ValidateUpdate(newPod, oldPod)}
	named := map[string]corev1.EphemeralContainer{}
	for _, container := range newPod.Spec.EphemeralContainers {
		named[container.Name] = container
	}
	for _, before := range oldPod.Spec.EphemeralContainers {
		after, ok := named[before.Name]
		switch {
		case !ok:
			r.unchangeable(fmt.Sprintf("existing ephemeral containers %q may not be removed\n", before.Name), "spec", "ephemeralContainers")
		case !apiequality.Semantic.DeepEqual(before, after):
			r.unchangeable(fmt.Sprintf("existing ephemeral containers %q may not be changed\n", before.Name), "spec", "ephemeralContainers")
		}
	}
	return r.errs
}

// isStatic reports whether a pod is the mirror of a static pod, which a kubelet runs from a file.
func isStatic(pod *corev1.Pod) bool {
	_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return static
}

// ValidateResize validates an update of the resources of a pod. The CPU and memory of containers can change as long as the
// QoS class stays.
func ValidateResize(newPod, oldPod *corev1.Pod) field.ErrorList {
	if isStatic(oldPod) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	}
	if oldPod.Spec.OS != nil && oldPod.Spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	r := &report{errs: ValidateUpdate(newPod, oldPod)}
	r.under(func() { resizedPod(r, newPod, oldPod) }, "spec")
	return r.errs
}

func resizedPod(r *report, newPod, oldPod *corev1.Pod) {
	before := oldPod.Status.QOSClass
	if before == "" {
		before = native.QualityOfService(&oldPod.Spec)
	}
	if native.QualityOfService(&newPod.Spec) != before {
		r.invalid(newPod.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
	}
	if !nodeCanResize(oldPod) {
		r.forbidden("Pod running on node without support for resize")
	}
	resizedResources(r, newPod.Spec.Resources, oldPod.Spec.Resources)
	if len(oldPod.Status.NodeAllocatableResourceClaimStatuses) > 0 {
		r.forbidden("pods with node allocatable resource claims cannot be resized")
	}
	found := len(r.errs)
	sameContainers(r, newPod.Spec.Containers, oldPod.Spec.Containers, "containers")
	sameContainers(r, newPod.Spec.InitContainers, oldPod.Spec.InitContainers, "initContainers")
	if len(r.errs) > found {
		return
	}
	for i := range oldPod.Spec.InitContainers {
		r.under(func() { resizedInitContainer(r, newPod.Spec.InitContainers[i], oldPod.Spec.InitContainers[i]) }, "initContainers", i)
	}
	for i := range oldPod.Spec.Containers {
		after, before := newPod.Spec.Containers[i], oldPod.Spec.Containers[i]
		r.under(func() { keptResources(r, after.Resources, before.Resources, "resource") }, "containers", i, "resources")
		if !onlyCPUAndMemory(after, before) {
			r.unchangeable("only cpu and memory resources are mutable")
		}
	}
}

// nodeCanResize reports whether the kubelet of a pod can resize it. Such a kubelet reports the resources of running containers.
// For a pod without running containers the answer is true, because its kubelet has not reported yet.
func nodeCanResize(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Running != nil {
			return status.Resources != nil
		}
	}
	return true
}

// resizedResources checks the resources of the pod itself.
func resizedResources(r *report, after, before *corev1.ResourceRequirements) {
	if before == nil {
		before = &corev1.ResourceRequirements{}
	}
	if after == nil {
		if len(before.Requests)+len(before.Limits) > 0 {
			r.unchangeable("pod-level resources cannot be removed", "resources")
		}
		return
	}
	r.under(func() { keptResources(r, *after, *before, "pod-level resource") }, "resources")
	if !sameOthers(*after, *before) {
		r.unchangeable("only cpu and memory resources are mutable at pod-level")
	}
}

// keptResources checks that no request or limit was removed.
func keptResources(r *report, after, before corev1.ResourceRequirements, subject string) {
	if removed(after.Requests, before.Requests) {
		r.unchangeable(subject+" requests cannot be removed", "requests")
	}
	if removed(after.Limits, before.Limits) {
		r.unchangeable(subject+" limits cannot be removed", "limits")
	}
}

func removed(after, before corev1.ResourceList) bool {
	for name := range before {
		if _, ok := after[name]; !ok {
			return true
		}
	}
	return false
}

func sameContainers(r *report, after, before []corev1.Container, list string) {
	if len(after) != len(before) {
		r.unchangeable(list+" may not be added or removed on resize", list)
		return
	}
	for i := range before {
		if after[i].Name != before[i].Name {
			r.unchangeable(list+" may not be renamed or reordered on resize", list, i, "name")
		}
	}
}

func resizedInitContainer(r *report, after, before corev1.Container) {
	r.under(func() { keptResources(r, after.Resources, before.Resources, "resource") }, "resources")
	if !onlyCPUAndMemory(after, before) {
		r.unchangeable("only cpu and memory resources for init or sidecar containers are mutable")
	}
	sidecar := after.RestartPolicy != nil && *after.RestartPolicy == corev1.ContainerRestartPolicyAlways
	if sidecar || apiequality.Semantic.DeepEqual(after, before) {
		return
	}
	for _, policy := range after.ResizePolicy {
		if policy.RestartPolicy == corev1.RestartContainer {
			r.forbidden("non-sidecar init containers with a resize policy of RestartContainer cannot be resized")
		}
	}
}

// onlyCPUAndMemory reports whether two containers differ in nothing but their CPU and memory.
func onlyCPUAndMemory(after, before corev1.Container) bool {
	if !sameOthers(after.Resources, before.Resources) {
		return false
	}
	after.Resources = before.Resources
	return apiequality.Semantic.DeepEqual(after, before)
}

// sameOthers reports whether resources other than CPU and memory are equal.
func sameOthers(after, before corev1.ResourceRequirements) bool {
	return apiequality.Semantic.DeepEqual(others(after), others(before))
}

func others(resources corev1.ResourceRequirements) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: without(resources.Requests), Limits: without(resources.Limits), Claims: resources.Claims,
	}
}

// without returns a list without CPU and memory.
func without(list corev1.ResourceList) corev1.ResourceList {
	rest := maps.Clone(list)
	maps.DeleteFunc(rest, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return name == corev1.ResourceCPU || name == corev1.ResourceMemory
	})
	return rest
}

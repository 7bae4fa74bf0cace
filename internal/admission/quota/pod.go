package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	resourcehelpers "k8s.io/component-helpers/resource"

	"holdfast.dev/holdfast/internal/native"
)

var (
	podCount = generic.ObjectCountQuotaResourceNameFor(corev1.Resource("pods"))

	// podNames are the resource names under which pods have usage. isPodName also accepts
	// names with a prefix, such as requests.example.com/gpu.
	podNames = []corev1.ResourceName{
		podCount, corev1.ResourcePods,
		corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU,
		corev1.ResourceMemory, corev1.ResourceRequestsMemory, corev1.ResourceLimitsMemory,
		corev1.ResourceEphemeralStorage, corev1.ResourceRequestsEphemeralStorage, corev1.ResourceLimitsEphemeralStorage,
	}

	// requiredNames are the resource names that every container has to specify if a
	// quota limits them.
	requiredNames = []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU,
		corev1.ResourceMemory, corev1.ResourceRequestsMemory, corev1.ResourceLimitsMemory,
	}
)

func newPodEvaluator() *evaluator {
	return &evaluator{
		resource:  corev1.Resource("pods"),
		handles:   handlesPod,
		limitedBy: isPodName,
		usage: func(obj runtime.Object) (corev1.ResourceList, error) {
			pod, err := as[*corev1.Pod](obj)
			if err != nil {
				return nil, err
			}
			return podUsage(pod, time.Now()), nil
		},
		inScope:     podInScope,
		constraints: podConstraints,
	}
}

// as converts obj to the type of an evaluated kind.
func as[T runtime.Object](obj runtime.Object) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("unexpected object %T, want %T", obj, typed)
	}
	return typed, nil
}

// handlesPod reports whether a request changes the usage of a pod. Only the subresource
// resize changes the requests and limits of a pod. But an update that sets
// activeDeadlineSeconds moves the pod from the scope NotTerminating to Terminating.
func handlesPod(a admission.Attributes) bool {
	switch a.GetSubresource() {
	case "":
	case "resize":
		return a.GetOperation() == admission.Update
	default:
		return false
	}
	if a.GetOperation() == admission.Create {
		return true
	}
	newPod, isNew := a.GetObject().(*corev1.Pod)
	oldPod, isOld := a.GetOldObject().(*corev1.Pod)
	return a.GetOperation() == admission.Update && isNew && isOld && terminating(newPod) != terminating(oldPod)
}

func isPodName(name corev1.ResourceName) bool {
	if slices.Contains(podNames, name) || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
		return true
	}
	requested, ok := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	return ok && (strings.HasPrefix(requested, corev1.ResourceHugePagesPrefix) || extended(requested))
}

// extended reports whether the name is that of an extended resource, such as
// example.com/gpu.
func extended(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, corev1.ResourceDefaultNamespacePrefix)
}

// podUsage returns the usage of a pod. A finished pod only counts under count/pods.
func podUsage(pod *corev1.Pod, now time.Time) corev1.ResourceList {
	usage := corev1.ResourceList{podCount: number(1)}
	if finished(pod, now) {
		return usage
	}
	options := resourcehelpers.PodResourcesOptions{}
	maps.Copy(usage, computeUsage(resourcehelpers.PodRequests(pod, options), resourcehelpers.PodLimits(pod, options)))
	usage[corev1.ResourcePods] = number(1)
	return usage
}

// finished reports whether a pod has terminated, or is stuck in its deletion. A stuck
// pod must not use up the quota that its replacement needs.
func finished(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	deadline, ok := deletionDeadline(pod)
	return ok && now.After(deadline)
}

// deletionDeadline returns when a pod that is being deleted counts as stuck. As in
// Kubernetes, that is one more grace period after the grace period has ended. It returns
// false if the pod is not being deleted.
func deletionDeadline(pod *corev1.Pod) (time.Time, bool) {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return time.Time{}, false
	}
	return pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second), true
}

// computeUsage returns the usage of requests and limits.
func computeUsage(requests, limits corev1.ResourceList) corev1.ResourceList {
	usage := corev1.ResourceList{}
	for name, request := range requests {
		requested := corev1.DefaultResourceRequestsPrefix + name
		switch {
		case isComputeResource(name) || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			usage[name], usage[requested] = request, request
		case extended(string(name)):
			usage[requested] = request
		}
	}
	for name, limit := range limits {
		if isComputeResource(name) {
			usage["limits."+name] = limit
		}
	}
	return usage
}

func isComputeResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

// podConstraints returns an error that lists the containers without a request or limit
// that a quota requires, with the wording of Kubernetes. If the pod itself specifies
// resources, its containers need not.
func podConstraints(obj runtime.Object, required []corev1.ResourceName) error {
	pod, err := as[*corev1.Pod](obj)
	if err != nil || resourcehelpers.IsPodLevelResourcesSet(pod) {
		return err
	}
	var missing []string
	for _, name := range slices.Sorted(slices.Values(required)) {
		if !slices.Contains(requiredNames, name) {
			continue
		}
		var containers []string
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if _, ok := computeUsage(container.Resources.Requests, container.Resources.Limits)[name]; !ok {
				containers = append(containers, container.Name)
			}
		}
		if len(containers) > 0 {
			slices.Sort(containers)
			missing = append(missing, fmt.Sprintf("%s for: %s", name, strings.Join(containers, ",")))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("must specify %s", strings.Join(missing, "; "))
	}
	return nil
}

func podInScope(obj runtime.Object, scope requirement) (bool, error) {
	pod, err := as[*corev1.Pod](obj)
	if err != nil {
		return false, err
	}
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return terminating(pod), nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return !terminating(pod), nil
	case corev1.ResourceQuotaScopeBestEffort:
		return native.QualityOfService(&pod.Spec) == corev1.PodQOSBestEffort, nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		return native.QualityOfService(&pod.Spec) != corev1.PodQOSBestEffort, nil
	case corev1.ResourceQuotaScopePriorityClass:
		if pod.Spec.PriorityClassName == "" {
			return satisfies(scope), nil
		}
		return satisfies(scope, pod.Spec.PriorityClassName), nil
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossesNamespaces(pod.Spec.Affinity), nil
	default:
		return false, nil
	}
}

// terminating reports whether a pod is in the scope Terminating: it has a deadline.
func terminating(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

// crossesNamespaces reports whether a term of the pod affinity selects namespaces.
func crossesNamespaces(affinity *corev1.Affinity) bool {
	if affinity == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	var weighted []corev1.WeightedPodAffinityTerm
	if pods := affinity.PodAffinity; pods != nil {
		terms = append(terms, pods.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, pods.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if pods := affinity.PodAntiAffinity; pods != nil {
		terms = append(terms, pods.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, pods.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, w := range weighted {
		terms = append(terms, w.PodAffinityTerm)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
		return len(t.Namespaces) > 0 || t.NamespaceSelector != nil
	})
}

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

	"holdfast.dev/holdfast/native"
)

var (
	podCount = generic.ObjectCountQuotaResourceNameFor(corev1.Resource("pods"))

	// podNames are the names under which pods count, those with a prefix left out.
	podNames = []corev1.ResourceName{
		podCount, corev1.ResourcePods,
		corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU,
		corev1.ResourceMemory, corev1.ResourceRequestsMemory, corev1.ResourceLimitsMemory,
		corev1.ResourceEphemeralStorage, corev1.ResourceRequestsEphemeralStorage, corev1.ResourceLimitsEphemeralStorage,
	}

	// explicit are the names that, once in a quota, every container has to
	// specify.
	explicit = []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU,
		corev1.ResourceMemory, corev1.ResourceRequestsMemory, corev1.ResourceLimitsMemory,
	}
)

func pods() *measure {
	return &measure{
		resource: corev1.Resource("pods"),
		charged:  chargesPod,
		names:    isPodName,
		use: func(obj runtime.Object) (corev1.ResourceList, error) {
			pod, err := as[*corev1.Pod](obj)
			if err != nil {
				return nil, err
			}
			return podUse(pod, time.Now()), nil
		},
		within: podWithin,
		lacks:  podLacks,
	}
}

// as is the object of a measured kind.
func as[T runtime.Object](obj runtime.Object) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("a %T where a %T is measured", obj, typed)
	}
	return typed, nil
}

// chargesPod: requests and limits of a pod never change, but a pod that gets a
// deadline moves into the scope of those that end.
func chargesPod(a admission.Attributes) bool {
	if a.GetSubresource() != "" {
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

// extended tells the resources that nodes have beyond Kubernetes' own.
func extended(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, corev1.ResourceDefaultNamespacePrefix)
}

// podUse is what a pod counts for at a time. One that is over counts as an
// object alone.
func podUse(pod *corev1.Pod, now time.Time) corev1.ResourceList {
	use := corev1.ResourceList{podCount: number(1)}
	if over(pod, now) {
		return use
	}
	options := resourcehelpers.PodResourcesOptions{}
	maps.Copy(use, compute(resourcehelpers.PodRequests(pod, options), resourcehelpers.PodLimits(pod, options)))
	use[corev1.ResourcePods] = number(1)
	return use
}

// over reports whether a pod has ended or should have: one that is stuck in its
// deletion does not keep its successor out.
func over(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	deadline, ok := stuckAt(pod)
	return ok && now.After(deadline)
}

// stuckAt is when a pod in deletion counts as stuck: as in Kubernetes, its grace
// period after the end of its grace period.
func stuckAt(pod *corev1.Pod) (time.Time, bool) {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return time.Time{}, false
	}
	return pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second), true
}

// compute is what requests and limits count for.
func compute(requests, limits corev1.ResourceList) corev1.ResourceList {
	use := corev1.ResourceList{}
	for name, request := range requests {
		requested := corev1.DefaultResourceRequestsPrefix + name
		switch {
		case basic(name) || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			use[name], use[requested] = request, request
		case extended(string(name)):
			use[requested] = request
		}
	}
	for name, limit := range limits {
		if basic(name) {
			use["limits."+name] = limit
		}
	}
	return use
}

func basic(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

// podLacks says which containers do not name a resource that a quota limits, in
// Kubernetes' words. A pod that names its resources as a whole need not.
func podLacks(obj runtime.Object, required []corev1.ResourceName) error {
	pod, err := as[*corev1.Pod](obj)
	if err != nil || resourcehelpers.IsPodLevelResourcesSet(pod) {
		return err
	}
	var missing []string
	for _, name := range slices.Sorted(slices.Values(required)) {
		if !slices.Contains(explicit, name) {
			continue
		}
		var containers []string
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if _, ok := compute(container.Resources.Requests, container.Resources.Limits)[name]; !ok {
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

func podWithin(obj runtime.Object, scope requirement) (bool, error) {
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

func terminating(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

// crossesNamespaces reports whether a term of pod affinity names namespaces.
func crossesNamespaces(affinity *corev1.Affinity) bool {
	if affinity == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	var weighted []corev1.WeightedPodAffinityTerm
	if near := affinity.PodAffinity; near != nil {
		terms = append(terms, near.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, near.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if far := affinity.PodAntiAffinity; far != nil {
		terms = append(terms, far.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, far.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, w := range weighted {
		terms = append(terms, w.PodAffinityTerm)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
		return len(t.Namespaces) > 0 || t.NamespaceSelector != nil
	})
}

package native

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DropDisabled removes the fields of features that are off in Kubernetes by default. An update keeps
// a field that the stored object has. oldObj is nil for a create.
func DropDisabled(newObj, oldObj runtime.Object) {
	switch obj := newObj.(type) {
	case *corev1.Node:
		dropNodeConfig(obj, oldObj)
	case *coordinationv1.Lease:
		dropElection(obj, oldObj)
	case *appsv1.StatefulSet:
		dropMaxUnavailable(obj, oldObj)
		dropOfPod(PodSpecOf(newObj), PodSpecOf(oldObj))
	default:
		if spec := PodSpecOf(newObj); spec != nil {
			dropOfPod(spec, PodSpecOf(oldObj))
		}
	}
}

// PodSpecOf returns the spec of a pod or of the pod template of a workload; nil for other objects.
func PodSpecOf(obj runtime.Object) *corev1.PodSpec {
	switch obj := obj.(type) {
	case *corev1.Pod:
		return &obj.Spec
	case *corev1.PodTemplate:
		return &obj.Template.Spec
	case *corev1.ReplicationController:
		if obj.Spec.Template == nil {
			return nil
		}
		return &obj.Spec.Template.Spec
	case *appsv1.Deployment:
		return &obj.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		return &obj.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &obj.Spec.Template.Spec
	case *appsv1.DaemonSet:
		return &obj.Spec.Template.Spec
	case *batchv1.Job:
		return &obj.Spec.Template.Spec
	case *batchv1.CronJob:
		return &obj.Spec.JobTemplate.Spec.Template.Spec
	}
	return nil
}

func dropOfPod(spec, old *corev1.PodSpec) {
	// GenericWorkload
	if old == nil || old.SchedulingGroup == nil {
		spec.SchedulingGroup = nil
	}
	// ContainerStopSignals
	if old == nil || !hasStopSignal(old) {
		eachLifecycle(spec, func(lifecycle **corev1.Lifecycle) {
			if (*lifecycle).StopSignal == nil {
				return
			}
			(*lifecycle).StopSignal = nil
			if **lifecycle == (corev1.Lifecycle{}) {
				*lifecycle = nil
			}
		})
	}
}

func hasStopSignal(spec *corev1.PodSpec) (found bool) {
	eachLifecycle(spec, func(lifecycle **corev1.Lifecycle) { found = found || (*lifecycle).StopSignal != nil })
	return found
}

func eachLifecycle(spec *corev1.PodSpec, visit func(**corev1.Lifecycle)) {
	call := func(lifecycle **corev1.Lifecycle) {
		if *lifecycle != nil {
			visit(lifecycle)
		}
	}
	for i := range spec.InitContainers {
		call(&spec.InitContainers[i].Lifecycle)
	}
	for i := range spec.Containers {
		call(&spec.Containers[i].Lifecycle)
	}
	for i := range spec.EphemeralContainers {
		call(&spec.EphemeralContainers[i].Lifecycle)
	}
}

// dropNodeConfig removes the configuration of kubelets, which Kubernetes does not have any more.
//
//nolint:staticcheck // the field is deprecated for this reason
func dropNodeConfig(node *corev1.Node, oldObj runtime.Object) {
	old, ok := oldObj.(*corev1.Node)
	if !ok {
		node.Spec.ConfigSource, node.Status.Config = nil, nil
		return
	}
	if old.Spec.ConfigSource == nil {
		node.Spec.ConfigSource = nil
	}
}

// dropMaxUnavailable removes the field of the feature MaxUnavailableStatefulSet.
func dropMaxUnavailable(set *appsv1.StatefulSet, oldObj runtime.Object) {
	if old, ok := oldObj.(*appsv1.StatefulSet); ok && old.Spec.UpdateStrategy.RollingUpdate != nil &&
		old.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable != nil {
		return
	}
	if update := set.Spec.UpdateStrategy.RollingUpdate; update != nil {
		update.MaxUnavailable = nil
	}
}

// dropElection removes the fields of the feature CoordinatedLeaderElection.
func dropElection(lease *coordinationv1.Lease, oldObj runtime.Object) {
	old, ok := oldObj.(*coordinationv1.Lease)
	if !ok || old.Spec.Strategy == nil {
		lease.Spec.Strategy = nil
	}
	if !ok || old.Spec.PreferredHolder == nil {
		lease.Spec.PreferredHolder = nil
	}
}

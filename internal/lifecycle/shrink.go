package lifecycle

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// podInformer returns the informer of pods that the controllers share.
func podInformer(factory informers.SharedInformerFactory) (cache.SharedIndexInformer, error) {
	informer := factory.Core().V1().Pods().Informer()
	return informer, informer.SetTransform(shrinkPod)
}

// claimInformer returns the informer of claims that the controllers share.
func claimInformer(factory informers.SharedInformerFactory) (cache.SharedIndexInformer, error) {
	informer := factory.Core().V1().PersistentVolumeClaims().Informer()
	return informer, informer.SetTransform(shrinkClaim)
}

// volumeInformer returns the informer of volumes that the controllers share.
func volumeInformer(factory informers.SharedInformerFactory) (cache.SharedIndexInformer, error) {
	informer := factory.Core().V1().PersistentVolumes().Informer()
	return informer, informer.SetTransform(shrinkVolume)
}

// The shrink functions copy only the fields that the controllers read, so that the
// informers use less memory.

// shrinkMeta copies the metadata that the controllers read.
func shrinkMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		DeletionTimestamp: meta.DeletionTimestamp, DeletionGracePeriodSeconds: meta.DeletionGracePeriodSeconds,
	}
}

// shrinkPod copies the fields of a pod on which its deletion, its quota usage and the
// deletion of its claims depend.
func shrinkPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	return &corev1.Pod{
		ObjectMeta: shrinkMeta(pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName:              pod.Spec.NodeName,
			InitContainers:        shrinkContainers(pod.Spec.InitContainers),
			Containers:            shrinkContainers(pod.Spec.Containers),
			Resources:             pod.Spec.Resources,
			Overhead:              pod.Spec.Overhead,
			ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds,
			PriorityClassName:     pod.Spec.PriorityClassName,
			Affinity:              pod.Spec.Affinity,
			Volumes:               shrinkVolumes(pod.Spec.Volumes),
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}, nil
}

func shrinkContainers(containers []corev1.Container) []corev1.Container {
	if len(containers) == 0 {
		return nil
	}
	small := make([]corev1.Container, len(containers))
	for i := range containers {
		small[i] = corev1.Container{Resources: containers[i].Resources, RestartPolicy: containers[i].RestartPolicy}
	}
	return small
}

// shrinkVolumes copies the volumes of a pod that refer to a claim.
func shrinkVolumes(volumes []corev1.Volume) []corev1.Volume {
	var small []corev1.Volume
	for i := range volumes {
		switch v := &volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			small = append(small, corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: v.PersistentVolumeClaim}})
		case v.Ephemeral != nil:
			small = append(small, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}})
		}
	}
	return small
}

// shrinkService copies the fields of a service on which its quota usage depends.
func shrinkService(obj any) (any, error) {
	service, ok := obj.(*corev1.Service)
	if !ok {
		return obj, nil
	}
	small := &corev1.Service{ObjectMeta: shrinkMeta(service.ObjectMeta)}
	small.Spec.Type = service.Spec.Type
	small.Spec.AllocateLoadBalancerNodePorts = service.Spec.AllocateLoadBalancerNodePorts
	small.Spec.Ports = make([]corev1.ServicePort, len(service.Spec.Ports))
	for i, port := range service.Spec.Ports {
		small.Spec.Ports[i].NodePort = port.NodePort
	}
	return small, nil
}

// shrinkClaim copies the fields of a claim on which its quota usage and its deletion depend.
func shrinkClaim(obj any) (any, error) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return obj, nil
	}
	small := &corev1.PersistentVolumeClaim{ObjectMeta: shrinkMeta(claim.ObjectMeta)}
	small.Finalizers, small.OwnerReferences = claim.Finalizers, claim.OwnerReferences
	if class, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		small.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: class}
	}
	small.Spec.Resources = claim.Spec.Resources
	small.Spec.StorageClassName = claim.Spec.StorageClassName
	small.Spec.VolumeAttributesClassName = claim.Spec.VolumeAttributesClassName
	small.Status.AllocatedResources = claim.Status.AllocatedResources
	small.Status.CurrentVolumeAttributesClassName = claim.Status.CurrentVolumeAttributesClassName
	small.Status.ModifyVolumeStatus = claim.Status.ModifyVolumeStatus
	return small, nil
}

// shrinkVolume copies the fields of a PersistentVolume on which its deletion and that of its classes depend.
func shrinkVolume(obj any) (any, error) {
	found, ok := obj.(*corev1.PersistentVolume)
	if !ok {
		return obj, nil
	}
	small := &corev1.PersistentVolume{ObjectMeta: shrinkMeta(found.ObjectMeta)}
	small.Finalizers, small.Status.Phase = found.Finalizers, found.Status.Phase
	small.Spec.VolumeAttributesClassName = found.Spec.VolumeAttributesClassName
	return small, nil
}

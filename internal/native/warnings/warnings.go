package warnings

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// list collects warnings.
type list []string

func (l *list) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

// at adds a warning about a field.
func (l *list) at(path *field.Path, text string) { l.add("%s: %s", path, text) }

// OnCreate returns the warnings about a new object.
func OnCreate(obj runtime.Object) []string {
	var l list
	switch obj := obj.(type) {
	case *corev1.Pod:
		l.hostname(obj.Name, "the Pod's hostname")
		l.pod(nil, &obj.Spec, obj.Annotations)
	case *corev1.ResourceQuota:
		l.quota(obj)
	case *networkingv1.Ingress:
		l.ingress(obj)
	case *discoveryv1.EndpointSlice:
		if obj.AddressType == discoveryv1.AddressTypeFQDN {
			l.at(field.NewPath("spec", "addressType"), "FQDN endpoints are deprecated")
		}
		l.endpointSlice(obj)
	case *storagev1.CSIDriver:
		l.csiDriver(obj)
	case *appsv1.Deployment:
		l.hostname(obj.Name, podNames)
		l.workload(obj)
	case *appsv1.ReplicaSet:
		l.hostname(obj.Name, podNames)
		l.workload(obj)
	case *corev1.ReplicationController:
		l.hostname(obj.Name, podNames)
		l.workload(obj)
	case *batchv1.Job:
		l.hostname(obj.Name, podNames)
		l.workload(obj)
	case *batchv1.CronJob:
		l.hostname(obj.Name, podNames)
		l.workload(obj)
	case *appsv1.StatefulSet:
		l.workload(obj)
		l.claimTemplates(obj, "")
	default:
		l.workload(obj)
		l.common(obj)
	}
	return l
}

// OnUpdate returns the warnings about an update of the main resource.
func OnUpdate(newObj, oldObj runtime.Object) []string {
	var l list
	switch newObj := newObj.(type) {
	case *discoveryv1.EndpointSlice:
		l.endpointSlice(newObj)
	case *storagev1.CSIDriver:
		if !sameTokenRequests(newObj, oldObj.(*storagev1.CSIDriver)) {
			l.csiDriver(newObj)
		}
	case *appsv1.StatefulSet:
		l.workloadUpdate(newObj, oldObj)
		l.claimTemplates(newObj, "Spec")
	case *batchv1.CronJob:
		l.workloadUpdate(newObj, oldObj)
		l.schedule(newObj)
	default:
		l.workloadUpdate(newObj, oldObj)
		l.common(newObj)
	}
	return l
}

// common adds the warnings that are the same for creates and updates.
func (l *list) common(obj runtime.Object) {
	switch obj := obj.(type) {
	case *corev1.Service:
		l.service(obj)
	case *corev1.Endpoints:
		l.endpoints(obj)
	case *corev1.Secret:
		l.secret(obj)
	case *corev1.Node:
		l.node(obj)
	case *corev1.PersistentVolume:
		l.volume(obj)
	case *corev1.PersistentVolumeClaim:
		l.claim(obj)
	case *networkingv1.NetworkPolicy:
		l.networkPolicy(obj)
	case *nodev1.RuntimeClass:
		l.runtimeClass(obj)
	case *storagev1.StorageClass:
		l.storageClass(obj)
	case *storagev1.CSIStorageCapacity:
		l.storageCapacity(obj)
	case *resourcev1.ResourceSlice:
		l.resourceSlice(obj)
	case *admissionv1.MutatingWebhookConfiguration, *admissionv1.ValidatingWebhookConfiguration,
		*admissionv1.MutatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicy,
		*admissionv1.MutatingAdmissionPolicyBinding, *admissionv1.ValidatingAdmissionPolicyBinding:
		l.admission(obj)
	}
}

// OnStatus returns the warnings about an update of the status.
func OnStatus(newObj runtime.Object) []string {
	var l list
	switch obj := newObj.(type) {
	case *corev1.Pod:
		for i, ip := range obj.Status.PodIPs {
			l.ip(field.NewPath("status", "podIPs").Index(i).Child("ip"), ip.IP)
		}
		for i, ip := range obj.Status.HostIPs {
			l.ip(field.NewPath("status", "hostIPs").Index(i).Child("ip"), ip.IP)
		}
	case *corev1.Service:
		for i, ingress := range obj.Status.LoadBalancer.Ingress {
			l.ip(ingressPath.Index(i), ingress.IP)
		}
	case *networkingv1.Ingress:
		for i, ingress := range obj.Status.LoadBalancer.Ingress {
			l.ip(ingressPath.Index(i), ingress.IP)
		}
	}
	return l
}

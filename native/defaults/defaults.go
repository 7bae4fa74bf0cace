// Package defaults fills in what a client left out of a built-in object, as Kubernetes 1.37 does.
//
// A default is a value written into a decoded object before it is validated, stored or shown. Each kind has one plain
// function on its versioned Go type (deployment, service, ...), made of functions for the parts that kinds share
// (podSpec, container, volume, ...). What needs the old object, a clock, another object or an allocator is not a
// default and is not here: a Job's selector, a Service's addresses, a Pod's service account.
//
//	scheme := runtime.NewScheme()
//	defaults.Register(scheme)
//	scheme.Default(&deployment)
//
// Defaulting an object a second time changes nothing, it never shares memory between two places of an object, and it is
// as safe for concurrent use as the objects it is given.
package defaults

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Register adds the defaulting function of every built-in kind that has defaults, and of its list, to s. Kinds without
// one (ServiceAccount, Event, Ingress, Role, Lease, PodDisruptionBudget, ...) have no defaults in Kubernetes either.
func Register(s *runtime.Scheme) {
	kind(s, namespace, &corev1.NamespaceList{})
	kind(s, secret, &corev1.SecretList{})
	kind(s, pod, &corev1.PodList{})
	kind(s, podTemplate, &corev1.PodTemplateList{})
	kind(s, replicationController, &corev1.ReplicationControllerList{})
	kind(s, service, &corev1.ServiceList{})
	kind(s, endpoints, &corev1.EndpointsList{})
	kind(s, node, &corev1.NodeList{})
	kind(s, persistentVolume, &corev1.PersistentVolumeList{})
	kind(s, persistentVolumeClaim, &corev1.PersistentVolumeClaimList{})
	kind(s, limitRange, &corev1.LimitRangeList{})
	kind(s, resourceQuota, &corev1.ResourceQuotaList{})

	kind(s, deployment, &appsv1.DeploymentList{})
	kind(s, statefulSet, &appsv1.StatefulSetList{})
	kind(s, daemonSet, &appsv1.DaemonSetList{})
	kind(s, replicaSet, &appsv1.ReplicaSetList{})

	kind(s, job, &batchv1.JobList{})
	kind(s, cronJob, &batchv1.CronJobList{})
	kind(s, autoscaler, &autoscalingv2.HorizontalPodAutoscalerList{})

	kind(s, networkPolicy, &networkingv1.NetworkPolicyList{})
	kind(s, ingressClass, &networkingv1.IngressClassList{})
	kind(s, endpointSlice, &discoveryv1.EndpointSliceList{})

	kind(s, roleBinding, &rbacv1.RoleBindingList{})
	kind(s, clusterRoleBinding, &rbacv1.ClusterRoleBindingList{})

	kind(s, storageClass, &storagev1.StorageClassList{})
	kind(s, priorityClass, &schedulingv1.PriorityClassList{})

	kind(s, flowSchema, &flowcontrolv1.FlowSchemaList{})
	kind(s, priorityLevel, &flowcontrolv1.PriorityLevelConfigurationList{})

	kind(s, mutatingWebhooks, &admissionv1.MutatingWebhookConfigurationList{})
	kind(s, validatingWebhooks, &admissionv1.ValidatingWebhookConfigurationList{})
	kind(s, validatingPolicy, &admissionv1.ValidatingAdmissionPolicyList{})
	kind(s, validatingBinding, &admissionv1.ValidatingAdmissionPolicyBindingList{})
	kind(s, mutatingPolicy, &admissionv1.MutatingAdmissionPolicyList{})
	kind(s, mutatingBinding, &admissionv1.MutatingAdmissionPolicyBindingList{})
}

// kind registers set for one kind and for the items of its list kind.
func kind[T any](s *runtime.Scheme, set func(*T), list runtime.Object) {
	s.AddTypeDefaultingFunc(any(new(T)).(runtime.Object), func(obj any) { set(obj.(*T)) })
	s.AddTypeDefaultingFunc(list, func(obj any) {
		// The only error is that of the callback, which has none.
		_ = meta.EachListItem(obj.(runtime.Object), func(item runtime.Object) error {
			set(any(item).(*T))
			return nil
		})
	})
}

// each applies set to every element of list, in place.
func each[T any](list []T, set func(*T)) {
	for i := range list {
		set(&list[i])
	}
}

// fill gives field a value when it holds its zero value.
func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// fillPtr gives an unset pointer field a value of its own.
func fillPtr[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

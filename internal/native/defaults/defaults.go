// Package defaults sets the default values of the built-in kinds, as Kubernetes 1.37 does.
//
//	scheme := runtime.NewScheme()
//	defaults.Register(scheme)
//	scheme.Default(&deployment)
//
// Defaults are set in a decoded object before it is validated and stored. Each kind has one function for its Go type
// (deployment, service, ...), which uses functions for the parts that kinds share (podSpec, container, volume, ...).
//
// Values that depend on the old object, the time, other objects or an allocator are not set here, such as the selector of a
// Job, the cluster IP of a Service and the service account of a Pod.
//
// Setting the defaults of an object twice has no further effect. Default values of different
// fields never share memory. Different objects can be defaulted concurrently.
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
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Register adds the defaulting functions of all built-in kinds and their lists to s. Kinds that are not registered
// (ServiceAccount, Event, Ingress, Role, Lease, PodDisruptionBudget, ...) have no defaults in Kubernetes either.
func Register(s *runtime.Scheme) {
	register(s, namespace, &corev1.NamespaceList{})
	register(s, secret, &corev1.SecretList{})
	register(s, pod, &corev1.PodList{})
	register(s, podTemplate, &corev1.PodTemplateList{})
	register(s, replicationController, &corev1.ReplicationControllerList{})
	register(s, service, &corev1.ServiceList{})
	register(s, endpoints, &corev1.EndpointsList{})
	register(s, node, &corev1.NodeList{})
	register(s, persistentVolume, &corev1.PersistentVolumeList{})
	register(s, persistentVolumeClaim, &corev1.PersistentVolumeClaimList{})
	register(s, limitRange, &corev1.LimitRangeList{})
	register(s, resourceQuota, &corev1.ResourceQuotaList{})

	register(s, deployment, &appsv1.DeploymentList{})
	register(s, statefulSet, &appsv1.StatefulSetList{})
	register(s, daemonSet, &appsv1.DaemonSetList{})
	register(s, replicaSet, &appsv1.ReplicaSetList{})

	register(s, job, &batchv1.JobList{})
	register(s, cronJob, &batchv1.CronJobList{})
	register(s, autoscaler, &autoscalingv2.HorizontalPodAutoscalerList{})

	register(s, networkPolicy, &networkingv1.NetworkPolicyList{})
	register(s, ingressClass, &networkingv1.IngressClassList{})
	register(s, endpointSlice, &discoveryv1.EndpointSliceList{})

	register(s, roleBinding, &rbacv1.RoleBindingList{})
	register(s, clusterRoleBinding, &rbacv1.ClusterRoleBindingList{})

	register(s, storageClass, &storagev1.StorageClassList{})
	register(s, csiDriver, &storagev1.CSIDriverList{})
	register(s, resourceClaim, &resourcev1.ResourceClaimList{})
	register(s, resourceClaimTemplate, &resourcev1.ResourceClaimTemplateList{})
	register(s, priorityClass, &schedulingv1.PriorityClassList{})
	register(s, volumeAttachment, &storagev1.VolumeAttachmentList{})

	register(s, flowSchema, &flowcontrolv1.FlowSchemaList{})
	register(s, priorityLevel, &flowcontrolv1.PriorityLevelConfigurationList{})

	register(s, apiregistrationv1.SetObjectDefaults_APIService, &apiregistrationv1.APIServiceList{})
	register(s, mutatingWebhooks, &admissionv1.MutatingWebhookConfigurationList{})
	register(s, validatingWebhooks, &admissionv1.ValidatingWebhookConfigurationList{})
	register(s, validatingPolicy, &admissionv1.ValidatingAdmissionPolicyList{})
	register(s, validatingBinding, &admissionv1.ValidatingAdmissionPolicyBindingList{})
	register(s, mutatingPolicy, &admissionv1.MutatingAdmissionPolicyList{})
	register(s, mutatingBinding, &admissionv1.MutatingAdmissionPolicyBindingList{})
}

// register registers the function of a kind, also for the items of its list.
func register[T any](s *runtime.Scheme, set func(*T), list runtime.Object) {
	s.AddTypeDefaultingFunc(any(new(T)).(runtime.Object), func(obj any) { set(obj.(*T)) })
	s.AddTypeDefaultingFunc(list, func(obj any) {
		// The callback returns no errors, so there are none.
		_ = meta.EachListItem(obj.(runtime.Object), func(item runtime.Object) error {
			set(any(item).(*T))
			return nil
		})
	})
}

// forEach calls set for each item of a list.
func forEach[T any](list []T, set func(*T)) {
	for i := range list {
		set(&list[i])
	}
}

// setDefault sets a field that has its zero value.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// setDefaultPtr sets a pointer field that is nil.
func setDefaultPtr[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

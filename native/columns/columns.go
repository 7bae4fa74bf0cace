// Package columns defines the columns that `kubectl get` prints for the built-in kinds.
//
//	table, ok := columns.For(&corev1.Pod{})
//	cells := table.Cells(pod, time.Now())
//
// A Table has the columns of one kind, and converts an object to a row with one cell for each column. kubectl prints columns
// with priority 1 only with `-o wide`. Names, order and content of the columns are those of Kubernetes 1.37.
//
// Tables are shared and must not be changed. They are safe for concurrent use.
package columns

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Table defines how one kind is printed.
type Table struct {
	// Columns must not be changed.
	Columns []metav1.TableColumnDefinition

	row func(obj runtime.Object, now time.Time) []any
}

// Cells returns the row of obj, with one cell for each column. Ages are relative to now. obj must have the Go type with
// which the table was requested.
func (t Table) Cells(obj runtime.Object, now time.Time) []any {
	return t.row(obj, now)
}

// For returns the table for the Go type of obj. It returns false if that is not a built-in kind. For a list, call it with an
// item.
func For(obj runtime.Object) (Table, bool) {
	switch obj.(type) {
	case *corev1.Namespace:
		return namespaces, true
	case *corev1.ConfigMap:
		return configMaps, true
	case *corev1.Secret:
		return secrets, true
	case *corev1.ServiceAccount:
		return serviceAccounts, true
	case *corev1.Pod:
		return pods, true
	case *corev1.PodTemplate:
		return podTemplates, true
	case *corev1.ReplicationController:
		return replicationControllers, true
	case *corev1.Service:
		return services, true
	case *corev1.Endpoints:
		return endpoints, true
	case *corev1.Node:
		return nodes, true
	case *corev1.PersistentVolume:
		return persistentVolumes, true
	case *corev1.PersistentVolumeClaim:
		return persistentVolumeClaims, true
	case *corev1.LimitRange:
		return nameAndCreation, true
	case *corev1.ResourceQuota:
		return resourceQuotas, true
	case *corev1.Event:
		return events, true
	case *eventsv1.Event:
		return eventsV1, true
	case *appsv1.Deployment:
		return deployments, true
	case *appsv1.StatefulSet:
		return statefulSets, true
	case *appsv1.DaemonSet:
		return daemonSets, true
	case *appsv1.ReplicaSet:
		return replicaSets, true
	case *appsv1.ControllerRevision:
		return controllerRevisions, true
	case *batchv1.Job:
		return jobs, true
	case *batchv1.CronJob:
		return cronJobs, true
	case *autoscalingv1.Scale:
		return scales, true
	case *autoscalingv2.HorizontalPodAutoscaler:
		return autoscalers, true
	case *policyv1.PodDisruptionBudget:
		return disruptionBudgets, true
	case *networkingv1.Ingress:
		return ingresses, true
	case *networkingv1.IngressClass:
		return ingressClasses, true
	case *networkingv1.NetworkPolicy:
		return networkPolicies, true
	case *discoveryv1.EndpointSlice:
		return endpointSlices, true
	case *rbacv1.Role, *rbacv1.ClusterRole:
		return nameAndCreation, true
	case *rbacv1.RoleBinding:
		return roleBindings, true
	case *rbacv1.ClusterRoleBinding:
		return clusterRoleBindings, true
	case *coordinationv1.Lease:
		return leases, true
	case *storagev1.StorageClass:
		return storageClasses, true
	case *schedulingv1.PriorityClass:
		return priorityClasses, true
	case *nodev1.RuntimeClass:
		return runtimeClasses, true
	case *flowcontrolv1.FlowSchema:
		return flowSchemas, true
	case *flowcontrolv1.PriorityLevelConfiguration:
		return priorityLevels, true
	case *apiregistrationv1.APIService:
		return apiServices, true
	case *admissionv1.MutatingWebhookConfiguration:
		return mutatingWebhooks, true
	case *admissionv1.ValidatingWebhookConfiguration:
		return validatingWebhooks, true
	case *admissionv1.ValidatingAdmissionPolicy:
		return validatingPolicies, true
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return validatingBindings, true
	case *admissionv1.MutatingAdmissionPolicy:
		return mutatingPolicies, true
	case *admissionv1.MutatingAdmissionPolicyBinding:
		return mutatingBindings, true
	case *certificatesv1.CertificateSigningRequest:
		return signingRequests, true
	case *resourcev1.DeviceClass, *resourcev1.ResourceClaimTemplate:
		return nameAndAge, true
	case *resourcev1.ResourceClaim:
		return resourceClaims, true
	case *resourcev1.ResourceSlice:
		return resourceSlices, true
	case *resourcev1.DeviceTaintRule:
		return deviceTaintRules, true
	case *storagev1.CSIDriver:
		return csiDrivers, true
	case *storagev1.CSINode:
		return csiNodes, true
	case *storagev1.CSIStorageCapacity:
		return csiStorageCapacities, true
	case *storagev1.VolumeAttachment:
		return volumeAttachments, true
	case *storagev1.VolumeAttributesClass:
		return volumeAttributesClasses, true
	case *networkingv1.ServiceCIDR:
		return serviceRanges, true
	case *networkingv1.IPAddress:
		return addresses, true
	case *certificatesv1.ClusterTrustBundle:
		return trustBundles, true
	}
	return Table{}, false
}

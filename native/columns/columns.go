// Package columns is what `kubectl get` shows of the built-in kinds.
//
// A Table is the columns of one kind and the way from an object to a row of cells. Columns of priority 1 are those that
// kubectl shows with `-o wide` only; a row has a cell for each column, wide or not.
//
//	table, ok := columns.For(&corev1.Pod{})
//	cells := table.Cells(pod, time.Now())
//
// Tables are immutable and shared; making a row reads the object and allocates the row. Names, order and contents are
// those of Kubernetes 1.37. A column's type is that of its cells.
package columns

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Table is how one kind is shown. It is a value to be read and passed on; nobody changes its columns.
type Table struct {
	Columns []metav1.TableColumnDefinition

	row func(obj runtime.Object, now time.Time) []any
}

// Cells returns the row of obj, one cell for each column. Ages in it are relative to now. The object must be of the Go
// type that the table was asked for with, and is not kept.
func (t Table) Cells(obj runtime.Object, now time.Time) []any {
	return t.row(obj, now)
}

// For returns the table of obj's kind, found by its Go type. It reports false for a type that is no built-in kind, a
// list among them: ask with an item.
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
		return createdAt, true
	case *corev1.ResourceQuota:
		return resourceQuotas, true
	case *corev1.Event:
		return events, true
	case *eventsv1.Event:
		return eventsOfEventsGroup, true
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
		return createdAt, true
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
	case *flowcontrolv1.FlowSchema:
		return flowSchemas, true
	case *flowcontrolv1.PriorityLevelConfiguration:
		return priorityLevels, true
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
	}
	return Table{}, false
}

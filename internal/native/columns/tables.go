package columns

import (
	"reflect"

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
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// tables has one row for each built-in kind, by the type of its objects. The group events.k8s.io and the scale subresource have a row too.
var tables = map[reflect.Type]Table{
	reflect.TypeFor[*corev1.Namespace]():             namespaces,
	reflect.TypeFor[*corev1.ConfigMap]():             configMaps,
	reflect.TypeFor[*corev1.Secret]():                secrets,
	reflect.TypeFor[*corev1.ServiceAccount]():        serviceAccounts,
	reflect.TypeFor[*corev1.Pod]():                   pods,
	reflect.TypeFor[*corev1.PodTemplate]():           podTemplates,
	reflect.TypeFor[*corev1.ReplicationController](): replicationControllers,
	reflect.TypeFor[*corev1.Service]():               services,
	reflect.TypeFor[*corev1.Endpoints]():             endpoints,
	reflect.TypeFor[*corev1.Node]():                  nodes,
	reflect.TypeFor[*corev1.PersistentVolume]():      persistentVolumes,
	reflect.TypeFor[*corev1.PersistentVolumeClaim](): persistentVolumeClaims,
	reflect.TypeFor[*corev1.LimitRange]():            nameAndCreation,
	reflect.TypeFor[*corev1.ResourceQuota]():         resourceQuotas,
	reflect.TypeFor[*corev1.Event]():                 events,

	reflect.TypeFor[*eventsv1.Event](): eventsV1,

	reflect.TypeFor[*appsv1.Deployment]():         deployments,
	reflect.TypeFor[*appsv1.StatefulSet]():        statefulSets,
	reflect.TypeFor[*appsv1.DaemonSet]():          daemonSets,
	reflect.TypeFor[*appsv1.ReplicaSet]():         replicaSets,
	reflect.TypeFor[*appsv1.ControllerRevision](): controllerRevisions,

	reflect.TypeFor[*batchv1.Job]():     jobs,
	reflect.TypeFor[*batchv1.CronJob](): cronJobs,

	reflect.TypeFor[*autoscalingv1.Scale](): scales,

	reflect.TypeFor[*autoscalingv2.HorizontalPodAutoscaler](): autoscalers,

	reflect.TypeFor[*policyv1.PodDisruptionBudget](): disruptionBudgets,

	reflect.TypeFor[*networkingv1.Ingress]():       ingresses,
	reflect.TypeFor[*networkingv1.IngressClass]():  ingressClasses,
	reflect.TypeFor[*networkingv1.NetworkPolicy](): networkPolicies,
	reflect.TypeFor[*networkingv1.ServiceCIDR]():   serviceRanges,
	reflect.TypeFor[*networkingv1.IPAddress]():     addresses,

	reflect.TypeFor[*discoveryv1.EndpointSlice](): endpointSlices,

	reflect.TypeFor[*rbacv1.Role]():               nameAndCreation,
	reflect.TypeFor[*rbacv1.ClusterRole]():        nameAndCreation,
	reflect.TypeFor[*rbacv1.RoleBinding]():        roleBindings,
	reflect.TypeFor[*rbacv1.ClusterRoleBinding](): clusterRoleBindings,

	reflect.TypeFor[*coordinationv1.Lease](): leases,

	reflect.TypeFor[*storagev1.StorageClass]():          storageClasses,
	reflect.TypeFor[*storagev1.CSIDriver]():             csiDrivers,
	reflect.TypeFor[*storagev1.CSINode]():               csiNodes,
	reflect.TypeFor[*storagev1.CSIStorageCapacity]():    csiStorageCapacities,
	reflect.TypeFor[*storagev1.VolumeAttachment]():      volumeAttachments,
	reflect.TypeFor[*storagev1.VolumeAttributesClass](): volumeAttributesClasses,

	reflect.TypeFor[*storagemigrationv1.StorageVersionMigration](): migrations,

	reflect.TypeFor[*schedulingv1.PriorityClass](): priorityClasses,

	reflect.TypeFor[*nodev1.RuntimeClass](): runtimeClasses,

	reflect.TypeFor[*flowcontrolv1.FlowSchema]():                 flowSchemas,
	reflect.TypeFor[*flowcontrolv1.PriorityLevelConfiguration](): priorityLevels,

	reflect.TypeFor[*apiregistrationv1.APIService](): apiServices,

	reflect.TypeFor[*admissionv1.MutatingWebhookConfiguration]():     mutatingWebhooks,
	reflect.TypeFor[*admissionv1.ValidatingWebhookConfiguration]():   validatingWebhooks,
	reflect.TypeFor[*admissionv1.ValidatingAdmissionPolicy]():        validatingPolicies,
	reflect.TypeFor[*admissionv1.ValidatingAdmissionPolicyBinding](): validatingBindings,
	reflect.TypeFor[*admissionv1.MutatingAdmissionPolicy]():          mutatingPolicies,
	reflect.TypeFor[*admissionv1.MutatingAdmissionPolicyBinding]():   mutatingBindings,

	reflect.TypeFor[*certificatesv1.CertificateSigningRequest](): signingRequests,
	reflect.TypeFor[*certificatesv1.ClusterTrustBundle]():        trustBundles,

	reflect.TypeFor[*resourcev1.DeviceClass]():           nameAndAge,
	reflect.TypeFor[*resourcev1.ResourceClaimTemplate](): nameAndAge,
	reflect.TypeFor[*resourcev1.ResourceClaim]():         resourceClaims,
	reflect.TypeFor[*resourcev1.ResourceSlice]():         resourceSlices,
	reflect.TypeFor[*resourcev1.DeviceTaintRule]():       deviceTaintRules,
}

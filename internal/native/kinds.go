package native

import (
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
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// The categories of kinds. kubectl get all lists the kinds of the category "all".
var (
	all           = []string{"all"}
	apiExtensions = []string{"api-extensions"}
)

// allMetadata is the value of StatusKeeps for kinds whose metadata no write to the status
// changes.
var allMetadata = []string{"deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences"}

// Kinds returns the built-in kinds. Discovery shows their groups in this order.
func Kinds() []Kind {
	kinds := coreKinds()
	kinds = append(kinds, workloadKinds()...)
	kinds = append(kinds, policyKinds()...)
	kinds = append(kinds, storageKinds()...)
	return append(kinds, resourceKinds()...)
}

func coreKinds() []Kind {
	gv := corev1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Resource: "namespaces", ShortNames: []string{"ns"}, Scope: Cluster,
			Object: &corev1.Namespace{}, List: &corev1.NamespaceList{},
			Status: true, Selectable: namespaceFields, PrepareCreate: prepareNamespace, PrepareUpdate: keepNamespaceFinalizers,
			ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "configmaps", ShortNames: []string{"cm"},
			Object: &corev1.ConfigMap{}, List: &corev1.ConfigMapList{},
		},
		{
			GroupVersion: gv, Resource: "secrets",
			Object: &corev1.Secret{}, List: &corev1.SecretList{},
			Selectable: secretFields, PrepareUpdate: keepSecretType,
		},
		{
			GroupVersion: gv, Resource: "pods", ShortNames: []string{"po"}, Categories: all,
			Object: &corev1.Pod{}, List: &corev1.PodList{},
			Status: true, Generation: true, Selectable: podFields, Indexed: "spec.nodeName",
			PrepareCreate: preparePod, PrepareUpdate: keepPodQOS, PrepareStatus: keepPodStatus,
			StatusKeeps: []string{"deletionTimestamp", "ownerReferences"},
			GracePeriod: podGracePeriod, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "services", ShortNames: []string{"svc"}, Categories: all,
			Object: &corev1.Service{}, List: &corev1.ServiceList{},
			Status: true, CreateOnUpdate: true, Selectable: serviceFields, PrepareUpdate: dropUnusedFields, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "serviceaccounts", ShortNames: []string{"sa"},
			Object: &corev1.ServiceAccount{}, List: &corev1.ServiceAccountList{}, ReturnDeleted: true,
			PrepareCreate: keepSecretNames, PrepareUpdate: func(newObj, _ runtime.Object) { keepSecretNames(newObj) },
		},
		{
			GroupVersion: gv, Resource: "persistentvolumeclaims", ShortNames: []string{"pvc"},
			Object: &corev1.PersistentVolumeClaim{}, List: &corev1.PersistentVolumeClaimList{},
			Status: true, PrepareCreate: prepareClaim, PrepareUpdate: copyDataSource, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "persistentvolumes", ShortNames: []string{"pv"}, Scope: Cluster,
			Object: &corev1.PersistentVolume{}, List: &corev1.PersistentVolumeList{},
			Status: true, PrepareCreate: prepareVolume, PrepareStatus: setPhaseTime, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "nodes", ShortNames: []string{"no"}, Scope: Cluster,
			Object: &corev1.Node{}, List: &corev1.NodeList{},
			Status: true, Selectable: nodeFields, PrepareStatus: dropNodeConfigStatus,
		},
		{
			GroupVersion: gv, Resource: "events", ShortNames: []string{"ev"},
			Object: &corev1.Event{}, List: &corev1.EventList{},
			CreateOnUpdate: true, Selectable: eventFields, Dependents: NoDependents,
			OtherVersions: []schema.GroupVersion{eventsv1.SchemeGroupVersion},
		},
		{
			GroupVersion: gv, Resource: "endpoints", ShortNames: []string{"ep"},
			Object: &corev1.Endpoints{}, List: &corev1.EndpointsList{}, CreateOnUpdate: true,
		},
		{
			GroupVersion: gv, Resource: "limitranges", ShortNames: []string{"limits"},
			Object: &corev1.LimitRange{}, List: &corev1.LimitRangeList{}, CreateOnUpdate: true,
		},
		{
			GroupVersion: gv, Resource: "resourcequotas", ShortNames: []string{"quota"},
			Object: &corev1.ResourceQuota{}, List: &corev1.ResourceQuotaList{},
			Status: true, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "podtemplates",
			Object: &corev1.PodTemplate{}, List: &corev1.PodTemplateList{}, ReturnDeleted: true, Generation: true,
		},
		{
			GroupVersion: gv, Resource: "replicationcontrollers", ShortNames: []string{"rc"}, Categories: all,
			Object: &corev1.ReplicationController{}, List: &corev1.ReplicationControllerList{},
			Status: true, Generation: true, Scale: replicationControllerScale, Selectable: replicationControllerFields,
			Dependents: OrphanDependents,
		},
	}
}

func workloadKinds() []Kind {
	return []Kind{
		{
			GroupVersion: appsv1.SchemeGroupVersion, Resource: "deployments", ShortNames: []string{"deploy"}, Categories: all,
			Object: &appsv1.Deployment{}, List: &appsv1.DeploymentList{},
			Status: true, StatusKeeps: []string{"labels"}, Generation: true, Counts: otherAnnotations, Scale: deploymentScale,
		},
		{
			GroupVersion: appsv1.SchemeGroupVersion, Resource: "statefulsets", ShortNames: []string{"sts"}, Categories: all,
			Object: &appsv1.StatefulSet{}, List: &appsv1.StatefulSetList{},
			Status: true, Generation: true, Scale: statefulSetScale,
		},
		{
			GroupVersion: appsv1.SchemeGroupVersion, Resource: "daemonsets", ShortNames: []string{"ds"}, Categories: all,
			Object: &appsv1.DaemonSet{}, List: &appsv1.DaemonSetList{},
			Status: true, Generation: true, PrepareCreate: prepareDaemonSet, PrepareUpdate: countTemplates,
		},
		{
			GroupVersion: appsv1.SchemeGroupVersion, Resource: "replicasets", ShortNames: []string{"rs"}, Categories: all,
			Object: &appsv1.ReplicaSet{}, List: &appsv1.ReplicaSetList{},
			Status: true, Generation: true, Scale: replicaSetScale, Selectable: replicaSetFields,
		},
		{
			GroupVersion: appsv1.SchemeGroupVersion, Resource: "controllerrevisions",
			Object: &appsv1.ControllerRevision{}, List: &appsv1.ControllerRevisionList{},
		},
		{
			GroupVersion: batchv1.SchemeGroupVersion, Resource: "jobs", Categories: all,
			Object: &batchv1.Job{}, List: &batchv1.JobList{},
			Status: true, Generation: true, Selectable: jobFields, PrepareCreate: prepareJob, Dependents: OrphanDependents,
		},
		{
			GroupVersion: batchv1.SchemeGroupVersion, Resource: "cronjobs", ShortNames: []string{"cj"}, Categories: all,
			Object: &batchv1.CronJob{}, List: &batchv1.CronJobList{},
			Status: true, Generation: true,
		},
		{
			GroupVersion: autoscalingv2.SchemeGroupVersion, Resource: "horizontalpodautoscalers", ShortNames: []string{"hpa"}, Categories: all,
			Object: &autoscalingv2.HorizontalPodAutoscaler{}, List: &autoscalingv2.HorizontalPodAutoscalerList{},
			Status: true, Generation: true, OtherVersions: []schema.GroupVersion{autoscalingv1.SchemeGroupVersion},
		},
		{
			GroupVersion: policyv1.SchemeGroupVersion, Resource: "poddisruptionbudgets", ShortNames: []string{"pdb"},
			Object: &policyv1.PodDisruptionBudget{}, List: &policyv1.PodDisruptionBudgetList{},
			Status: true, Generation: true, ConditionalUpdate: true,
		},
		{
			GroupVersion: networkingv1.SchemeGroupVersion, Resource: "ingresses", ShortNames: []string{"ing"},
			Object: &networkingv1.Ingress{}, List: &networkingv1.IngressList{},
			Status: true, Generation: true,
		},
		{
			GroupVersion: networkingv1.SchemeGroupVersion, Resource: "ingressclasses", Scope: Cluster,
			Object: &networkingv1.IngressClass{}, List: &networkingv1.IngressClassList{}, Generation: true,
		},
		{
			GroupVersion: networkingv1.SchemeGroupVersion, Resource: "networkpolicies", ShortNames: []string{"netpol"},
			Object: &networkingv1.NetworkPolicy{}, List: &networkingv1.NetworkPolicyList{}, Generation: true,
		},
		{
			GroupVersion: networkingv1.SchemeGroupVersion, Resource: "ipaddresses", ShortNames: []string{"ip"}, Scope: Cluster,
			Object: &networkingv1.IPAddress{}, List: &networkingv1.IPAddressList{},
		},
		{
			GroupVersion: networkingv1.SchemeGroupVersion, Resource: "servicecidrs", Scope: Cluster,
			Object: &networkingv1.ServiceCIDR{}, List: &networkingv1.ServiceCIDRList{},
			Status: true, StatusKeeps: allMetadata,
		},
		{
			GroupVersion: discoveryv1.SchemeGroupVersion, Resource: "endpointslices",
			Object: &discoveryv1.EndpointSlice{}, List: &discoveryv1.EndpointSliceList{}, Generation: true, Counts: otherLabels,
			PrepareCreate: func(obj runtime.Object) { dropTopology(obj, &discoveryv1.EndpointSlice{}) }, PrepareUpdate: dropTopology,
		},
	}
}

func policyKinds() []Kind {
	return []Kind{
		{
			GroupVersion: rbacv1.SchemeGroupVersion, Resource: "roles",
			Object: &rbacv1.Role{}, List: &rbacv1.RoleList{}, CreateOnUpdate: true,
		},
		{
			GroupVersion: rbacv1.SchemeGroupVersion, Resource: "rolebindings",
			Object: &rbacv1.RoleBinding{}, List: &rbacv1.RoleBindingList{}, CreateOnUpdate: true,
		},
		{
			GroupVersion: rbacv1.SchemeGroupVersion, Resource: "clusterroles", Scope: Cluster,
			Object: &rbacv1.ClusterRole{}, List: &rbacv1.ClusterRoleList{}, CreateOnUpdate: true,
		},
		{
			GroupVersion: rbacv1.SchemeGroupVersion, Resource: "clusterrolebindings", Scope: Cluster,
			Object: &rbacv1.ClusterRoleBinding{}, List: &rbacv1.ClusterRoleBindingList{}, CreateOnUpdate: true,
		},
		{
			GroupVersion: coordinationv1.SchemeGroupVersion, Resource: "leases",
			Object: &coordinationv1.Lease{}, List: &coordinationv1.LeaseList{}, CreateOnUpdate: true, ConditionalUpdate: true,
		},
		{
			GroupVersion: certificatesv1.SchemeGroupVersion, Resource: "certificatesigningrequests", ShortNames: []string{"csr"}, Scope: Cluster,
			Object: &certificatesv1.CertificateSigningRequest{}, List: &certificatesv1.CertificateSigningRequestList{},
			Status: true, Selectable: signingRequestFields, PrepareUpdate: keepSigningRequestSpec,
		},
		{
			GroupVersion: certificatesv1.SchemeGroupVersion, Resource: "clustertrustbundles", Scope: Cluster,
			Object: &certificatesv1.ClusterTrustBundle{}, List: &certificatesv1.ClusterTrustBundleList{},
			Selectable: trustBundleFields, ConditionalUpdate: true,
		},
		{
			GroupVersion: flowcontrolv1.SchemeGroupVersion, Resource: "flowschemas", Scope: Cluster,
			Object: &flowcontrolv1.FlowSchema{}, List: &flowcontrolv1.FlowSchemaList{},
			Status: true, StatusKeeps: allMetadata, Generation: true,
		},
		{
			GroupVersion: flowcontrolv1.SchemeGroupVersion, Resource: "prioritylevelconfigurations", Scope: Cluster,
			Object: &flowcontrolv1.PriorityLevelConfiguration{}, List: &flowcontrolv1.PriorityLevelConfigurationList{},
			Status: true, StatusKeeps: allMetadata, Generation: true,
		},
		{
			GroupVersion: schedulingv1.SchemeGroupVersion, Resource: "priorityclasses", ShortNames: []string{"pc"}, Scope: Cluster,
			Object: &schedulingv1.PriorityClass{}, List: &schedulingv1.PriorityClassList{},
			PrepareCreate: func(obj runtime.Object) { obj.(*schedulingv1.PriorityClass).Generation = 1 },
		},
		{
			GroupVersion: nodev1.SchemeGroupVersion, Resource: "runtimeclasses", Scope: Cluster,
			Object: &nodev1.RuntimeClass{}, List: &nodev1.RuntimeClassList{},
			CreateOnUpdate: true, ConditionalUpdate: true,
		},
		{
			GroupVersion: apiregistrationv1.SchemeGroupVersion, Resource: "apiservices", Categories: apiExtensions, Scope: Cluster,
			Object: &apiregistrationv1.APIService{}, List: &apiregistrationv1.APIServiceList{},
			Status: true, StatusKeeps: allMetadata, ConditionalUpdate: true, PrepareCreate: prepareAPIService,
		},
		{
			GroupVersion: admissionv1.SchemeGroupVersion, Resource: "mutatingwebhookconfigurations", Categories: apiExtensions, Scope: Cluster,
			Object: &admissionv1.MutatingWebhookConfiguration{}, List: &admissionv1.MutatingWebhookConfigurationList{},
			Generation: true, ConditionalUpdate: true,
		},
		{
			GroupVersion: admissionv1.SchemeGroupVersion, Resource: "validatingwebhookconfigurations", Categories: apiExtensions, Scope: Cluster,
			Object: &admissionv1.ValidatingWebhookConfiguration{}, List: &admissionv1.ValidatingWebhookConfigurationList{},
			Generation: true, ConditionalUpdate: true,
		},
		{
			GroupVersion: admissionv1.SchemeGroupVersion, Resource: "validatingadmissionpolicies", Categories: apiExtensions, Scope: Cluster,
			Object: &admissionv1.ValidatingAdmissionPolicy{}, List: &admissionv1.ValidatingAdmissionPolicyList{},
			Status: true, StatusKeeps: allMetadata, Generation: true, ConditionalUpdate: true,
		},
		{
			GroupVersion: admissionv1.SchemeGroupVersion, Resource: "validatingadmissionpolicybindings", Categories: apiExtensions, Scope: Cluster,
			Object: &admissionv1.ValidatingAdmissionPolicyBinding{}, List: &admissionv1.ValidatingAdmissionPolicyBindingList{},
			Generation: true, ConditionalUpdate: true,
		},
		{
			GroupVersion: admissionv1.SchemeGroupVersion, Resource: "mutatingadmissionpolicies", Categories: apiExtensions, Scope: Cluster,
			Object: &admissionv1.MutatingAdmissionPolicy{}, List: &admissionv1.MutatingAdmissionPolicyList{},
			Generation: true, ConditionalUpdate: true,
		},
		{
			GroupVersion: admissionv1.SchemeGroupVersion, Resource: "mutatingadmissionpolicybindings", Categories: apiExtensions, Scope: Cluster,
			Object: &admissionv1.MutatingAdmissionPolicyBinding{}, List: &admissionv1.MutatingAdmissionPolicyBindingList{},
			Generation: true, ConditionalUpdate: true,
		},
	}
}

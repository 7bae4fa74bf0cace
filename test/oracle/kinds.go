package main

import (
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	aggregatorinstall "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	csr "k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"
)

// mainStrategy is the strategy of the main resource of a kind.
type mainStrategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// kind is how Kubernetes serves one kind.
type kind struct {
	main mainStrategy
	// subresources are the strategies of the subresources that update objects.
	subresources map[string]rest.RESTUpdateStrategy
	// attributes returns the values that selectors compare. Nil means the metadata only.
	attributes storage.AttrFunc
}

func status(strategy rest.RESTUpdateStrategy) map[string]rest.RESTUpdateStrategy {
	return map[string]rest.RESTUpdateStrategy{"status": strategy}
}

// kinds returns the strategies by the name of the kind. No two groups of this table share the
// name of a kind.
func kinds() map[string]kind {
	aggregatorinstall.Install(legacyscheme.Scheme)
	claim := resourceclaim.NewStrategy(namespaces{}, allowAll{})
	validatingPolicy := validatingadmissionpolicy.NewStrategy(allowAll{}, noResources{})
	return map[string]kind{
		"Namespace": {namespace.Strategy, map[string]rest.RESTUpdateStrategy{
			"status": namespace.StatusStrategy, "finalize": namespace.FinalizeStrategy,
		}, namespace.GetAttrs},
		"ConfigMap": {configmap.Strategy, nil, configmap.GetAttrs},
		"Secret":    {secret.Strategy, nil, secret.GetAttrs},
		"Pod": {pod.Strategy, map[string]rest.RESTUpdateStrategy{
			"status": pod.StatusStrategy, "ephemeralcontainers": pod.EphemeralContainersStrategy, "resize": pod.ResizeStrategy,
		}, pod.GetAttrs},
		"Service":               {service.Strategy, status(service.StatusStrategy), service.GetAttrs},
		"ServiceAccount":        {serviceaccount.Strategy, nil, nil},
		"PersistentVolumeClaim": {persistentvolumeclaim.Strategy, status(persistentvolumeclaim.StatusStrategy), persistentvolumeclaim.GetAttrs},
		"PersistentVolume":      {persistentvolume.Strategy, status(persistentvolume.StatusStrategy), persistentvolume.GetAttrs},
		"Node":                  {node.Strategy, status(node.StatusStrategy), node.GetAttrs},
		"Event":                 {event.Strategy, nil, event.GetAttrs},
		"Endpoints":             {endpoint.Strategy, nil, nil},
		"LimitRange":            {limitrange.Strategy, nil, nil},
		"ResourceQuota":         {resourcequota.Strategy, status(resourcequota.StatusStrategy), nil},
		"PodTemplate":           {podtemplate.Strategy, nil, nil},
		"ReplicationController": {replicationcontroller.Strategy, status(replicationcontroller.StatusStrategy), replicationcontroller.GetAttrs},

		"Deployment":              {deployment.Strategy, status(deployment.StatusStrategy), nil},
		"StatefulSet":             {statefulset.Strategy, status(statefulset.StatusStrategy), nil},
		"DaemonSet":               {daemonset.Strategy, status(daemonset.StatusStrategy), nil},
		"ReplicaSet":              {replicaset.Strategy, status(replicaset.StatusStrategy), replicaset.GetAttrs},
		"ControllerRevision":      {controllerrevision.Strategy, nil, nil},
		"Job":                     {job.Strategy, status(job.StatusStrategy), job.GetAttrs},
		"CronJob":                 {cronjob.Strategy, status(cronjob.StatusStrategy), nil},
		"HorizontalPodAutoscaler": {horizontalpodautoscaler.Strategy, status(horizontalpodautoscaler.StatusStrategy), nil},
		"PodDisruptionBudget":     {poddisruptionbudget.Strategy, status(poddisruptionbudget.StatusStrategy), nil},

		"Ingress":       {ingress.Strategy, status(ingress.StatusStrategy), nil},
		"IngressClass":  {ingressclass.Strategy, nil, nil},
		"NetworkPolicy": {networkpolicy.Strategy, nil, nil},
		"IPAddress":     {ipaddress.Strategy, nil, nil},
		"ServiceCIDR":   {servicecidr.Strategy, status(servicecidr.StatusStrategy), nil},
		"EndpointSlice": {endpointslice.Strategy, nil, nil},

		"Role":               {role.Strategy, nil, nil},
		"RoleBinding":        {rolebinding.Strategy, nil, nil},
		"ClusterRole":        {clusterrole.Strategy, nil, nil},
		"ClusterRoleBinding": {clusterrolebinding.Strategy, nil, nil},

		"Lease": {lease.Strategy, nil, nil},
		"CertificateSigningRequest": {csr.Strategy, map[string]rest.RESTUpdateStrategy{
			"status": csr.StatusStrategy, "approval": csr.ApprovalStrategy,
		}, csr.GetAttrs},
		"ClusterTrustBundle":         {clustertrustbundle.Strategy, nil, trustBundleAttributes},
		"FlowSchema":                 {flowschema.Strategy, status(flowschema.StatusStrategy), nil},
		"PriorityLevelConfiguration": {prioritylevelconfiguration.Strategy, status(prioritylevelconfiguration.StatusStrategy), nil},
		"PriorityClass":              {priorityclass.Strategy, nil, nil},
		"RuntimeClass":               {runtimeclass.Strategy, nil, nil},
		"APIService": {
			apiservice.NewStrategy(legacyscheme.Scheme), status(apiservice.NewStatusStrategy(legacyscheme.Scheme)), apiservice.GetAttrs,
		},

		"MutatingWebhookConfiguration":   {mutatingwebhookconfiguration.Strategy, nil, nil},
		"ValidatingWebhookConfiguration": {validatingwebhookconfiguration.Strategy, nil, nil},
		"ValidatingAdmissionPolicy":      {validatingPolicy, status(validatingadmissionpolicy.NewStatusStrategy(validatingPolicy)), nil},
		"ValidatingAdmissionPolicyBinding": {
			validatingadmissionpolicybinding.NewStrategy(allowAll{}, noPolicies{}, noResources{}), nil, nil,
		},
		"MutatingAdmissionPolicy":        {mutatingadmissionpolicy.NewStrategy(allowAll{}, noResources{}), nil, nil},
		"MutatingAdmissionPolicyBinding": {mutatingadmissionpolicybinding.NewStrategy(allowAll{}, noPolicies{}, noResources{}), nil, nil},

		"StorageClass":          {storageclass.Strategy, nil, nil},
		"VolumeAttributesClass": {volumeattributesclass.Strategy, nil, nil},
		"CSIDriver":             {csidriver.Strategy, nil, nil},
		"CSINode":               {csinode.Strategy, nil, nil},
		"CSIStorageCapacity":    {csistoragecapacity.Strategy, nil, nil},
		"VolumeAttachment":      {volumeattachment.Strategy, status(volumeattachment.StatusStrategy), nil},

		"StorageVersionMigration": {storagemigration.Strategy, status(storagemigration.StatusStrategy), nil},

		"DeviceClass":           {deviceclass.Strategy, nil, nil},
		"ResourceClaim":         {claim, status(resourceclaim.NewStatusStrategy(claim)), resourceclaim.GetAttrs},
		"ResourceClaimTemplate": {resourceclaimtemplate.NewStrategy(namespaces{}), nil, resourceclaimtemplate.GetAttrs},
		"ResourceSlice":         {resourceslice.Strategy, nil, resourceslice.GetAttrs},
		"DeviceTaintRule":       {devicetaintrule.Strategy, status(devicetaintrule.StatusStrategy), nil},
	}
}

package frozen

import (
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"

	"holdfast.dev/holdfast/immutability"
)

// table returns the rules for the frozen fields of each kind.
func table() map[reflect.Type][]immutability.Rule {
	return map[reflect.Type][]immutability.Rule{
		reflect.TypeFor[corev1.Pod]():                   podRules(),
		reflect.TypeFor[corev1.Service]():               {frozenField("spec.clusterIP", serviceWithoutAddress)},
		reflect.TypeFor[corev1.Secret]():                {frozenField("type", nil)},
		reflect.TypeFor[corev1.PersistentVolumeClaim](): claimRules(),
		reflect.TypeFor[corev1.PersistentVolume]():      volumeRules(),
		reflect.TypeFor[corev1.ResourceQuota]():         {{Path: "spec.scopes", Marker: immutability.Immutable, Set: true}},

		reflect.TypeFor[appsv1.Deployment]():         {frozenField("spec.selector", nil)},
		reflect.TypeFor[appsv1.ReplicaSet]():         {frozenField("spec.selector", nil)},
		reflect.TypeFor[appsv1.DaemonSet]():          {frozenField("spec.selector", nil)},
		reflect.TypeFor[appsv1.ControllerRevision](): {frozenField("data", nil)},
		reflect.TypeFor[appsv1.StatefulSet](): {
			frozenField("spec.serviceName", nil), frozenField("spec.selector", nil),
			frozenField("spec.podManagementPolicy", nil), frozenField("spec.volumeClaimTemplates", nil),
		},
		reflect.TypeFor[batchv1.Job](): jobRules(),

		reflect.TypeFor[networkingv1.IngressClass](): {frozenField("spec.controller", nil)},
		reflect.TypeFor[networkingv1.IPAddress]():    {frozenField("spec.parentRef", nil)},
		reflect.TypeFor[discoveryv1.EndpointSlice](): {frozenField("addressType", nil)},
		reflect.TypeFor[rbacv1.RoleBinding]():        {frozenField("roleRef", nil)},
		reflect.TypeFor[rbacv1.ClusterRoleBinding](): {frozenField("roleRef", nil)},
		reflect.TypeFor[schedulingv1.PriorityClass](): {
			frozenField("value", nil), frozenField("preemptionPolicy", nil),
		},
		reflect.TypeFor[certificatesv1.ClusterTrustBundle](): {frozenField("spec.signerName", nil)},
		reflect.TypeFor[nodev1.RuntimeClass]():               {frozenField("handler", nil)},
		reflect.TypeFor[storagev1.StorageClass](): {
			frozenField("provisioner", nil), frozenField("parameters", nil),
			frozenField("reclaimPolicy", nil), frozenField("volumeBindingMode", nil),
		},
		reflect.TypeFor[resourcev1.ResourceClaim]():         {frozenField("spec", nil)},
		reflect.TypeFor[resourcev1.ResourceClaimTemplate](): {frozenField("spec", nil)},
		reflect.TypeFor[resourcev1.ResourceSlice](): {
			frozenField("spec.driver", nil), frozenField("spec.pool.name", nil), frozenField("spec.nodeName", nil),
		},
		reflect.TypeFor[storagev1.CSIDriver](): {
			frozenField("spec.attachRequired", nil), frozenField("spec.volumeLifecycleModes", nil),
		},
		reflect.TypeFor[storagev1.CSIStorageCapacity](): {frozenField("nodeTopology", nil), frozenField("storageClassName", nil)},
		reflect.TypeFor[storagev1.VolumeAttachment]():   {frozenField("spec", nil)},
		reflect.TypeFor[storagev1.VolumeAttributesClass](): {
			frozenField("driverName", nil), frozenField("parameters", nil),
		},
		reflect.TypeFor[storagemigrationv1.StorageVersionMigration](): {frozenField("spec", nil)},
	}
}

// frozenField returns a rule for a field that cannot change, except as the exception allows.
func frozenField(path string, exception *immutability.Exception) immutability.Rule {
	return immutability.Rule{Path: path, Marker: immutability.Immutable, Exception: exception}
}

// mutableField returns a rule for a field that can change although a field above it is frozen.
func mutableField(path string) immutability.Rule { return immutability.Rule{Path: path} }

// podRules freezes the spec of a pod, except for the fields that can change while it runs.
func podRules() []immutability.Rule {
	return []immutability.Rule{
		frozenField("spec", nil),
		mutableField("spec.containers[*].image"),
		mutableField("spec.initContainers[*].image"),
		frozenField("spec.activeDeadlineSeconds", deadlineSooner),
		frozenField("spec.terminationGracePeriodSeconds", graceRepaired),
		frozenField("spec.nodeSelector", whileGated),
		// The time of a toleration can change, so it is none of the keys.
		{Path: "spec.tolerations", Marker: immutability.AdditionOnly, Keys: []string{"key", "operator", "value", "effect"}},
		{Path: "spec.schedulingGates", Marker: immutability.DeletionOnly, Keys: []string{"name"}},
	}
}

// jobRules freezes the fields of a Job that its running pods depend on. While no pods run, the resources of the containers and
// the placement of the pods can change.
func jobRules() []immutability.Rule {
	rules := []immutability.Rule{
		frozenField("spec.selector", nil), frozenField("spec.template", nil),
		frozenField("spec.completions", elasticJob), frozenField("spec.completionMode", nil), frozenField("spec.podFailurePolicy", nil),
		frozenField("spec.successPolicy", nil), frozenField("spec.backoffLimitPerIndex", nil), frozenField("spec.managedBy", nil),
	}
	for _, name := range []string{
		"metadata.annotations", "metadata.labels", "spec.affinity.nodeAffinity", "spec.nodeSelector", "spec.tolerations", "spec.schedulingGates",
		"spec.containers[*].resources", "spec.initContainers[*].resources",
	} {
		rules = append(rules, frozenField("spec.template."+name, withoutPods))
	}
	return rules
}

// claimRules freezes the spec of a PersistentVolumeClaim, except for expansion and binding.
func claimRules() []immutability.Rule {
	return []immutability.Rule{
		frozenField("spec", nil),
		frozenField("spec.resources.requests.storage", storageGrows),
		frozenField("spec.volumeName", setOnce),
		frozenField("spec.storageClassName", setOnce),
		frozenField("spec.volumeAttributesClassName", whileBound),
	}
}

// volumeRules freezes the source of a PersistentVolume: neither its type nor its fields can
// change.
func volumeRules() []immutability.Rule {
	rules := []immutability.Rule{
		frozenField("spec.volumeMode", nil),
		frozenField("spec.nodeAffinity", setOnce),
		// The Secret for the expansion of the volume can be set later.
		mutableField("spec.csi.controllerExpandSecretRef"),
	}
	for _, source := range reflect.VisibleFields(reflect.TypeFor[corev1.PersistentVolumeSource]()) {
		name, _, _ := strings.Cut(source.Tag.Get("json"), ",")
		rules = append(rules, frozenField("spec."+name, nil))
	}
	return rules
}

package frozen

import (
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"holdfast.dev/holdfast/immutability"
)

// table is the frozen fields of each kind.
func table() map[reflect.Type][]immutability.Rule {
	return map[reflect.Type][]immutability.Rule{
		reflect.TypeFor[corev1.Pod]():                   podRules(),
		reflect.TypeFor[corev1.Service]():               {held("spec.clusterIP", serviceWithoutAddress)},
		reflect.TypeFor[corev1.Secret]():                {held("type", nil)},
		reflect.TypeFor[corev1.PersistentVolumeClaim](): claimRules(),
		reflect.TypeFor[corev1.PersistentVolume]():      volumeRules(),
		reflect.TypeFor[corev1.ResourceQuota]():         {{Path: "spec.scopes", Marker: immutability.Immutable, Set: true}},

		reflect.TypeFor[appsv1.Deployment]():         {held("spec.selector", nil)},
		reflect.TypeFor[appsv1.ReplicaSet]():         {held("spec.selector", nil)},
		reflect.TypeFor[appsv1.DaemonSet]():          {held("spec.selector", nil)},
		reflect.TypeFor[appsv1.ControllerRevision](): {held("data", nil)},
		reflect.TypeFor[appsv1.StatefulSet](): {
			held("spec.serviceName", nil), held("spec.selector", nil),
			held("spec.podManagementPolicy", nil), held("spec.volumeClaimTemplates", nil),
		},
		reflect.TypeFor[batchv1.Job](): {
			held("spec.selector", nil), held("spec.template", whileSuspended),
			held("spec.completions", elasticJob), held("spec.completionMode", nil), held("spec.podFailurePolicy", nil),
			held("spec.backoffLimitPerIndex", nil), held("spec.managedBy", nil),
		},

		reflect.TypeFor[networkingv1.IngressClass](): {held("spec.controller", nil)},
		reflect.TypeFor[networkingv1.IPAddress]():    {held("spec.parentRef", nil)},
		reflect.TypeFor[discoveryv1.EndpointSlice](): {held("addressType", nil)},
		reflect.TypeFor[rbacv1.RoleBinding]():        {held("roleRef", nil)},
		reflect.TypeFor[rbacv1.ClusterRoleBinding](): {held("roleRef", nil)},
		reflect.TypeFor[schedulingv1.PriorityClass](): {
			held("value", nil), held("preemptionPolicy", nil),
		},
		reflect.TypeFor[storagev1.StorageClass](): {
			held("provisioner", nil), held("parameters", nil), held("reclaimPolicy", nil), held("volumeBindingMode", nil),
		},
	}
}

func held(path string, exception *immutability.Exception) immutability.Rule {
	return immutability.Rule{Path: path, Marker: immutability.Immutable, Exception: exception}
}

func free(path string) immutability.Rule { return immutability.Rule{Path: path} }

// podRules hold the spec but for what Kubernetes lets change in a running pod.
func podRules() []immutability.Rule {
	return []immutability.Rule{
		held("spec", nil),
		free("spec.containers[*].image"),
		free("spec.initContainers[*].image"),
		held("spec.activeDeadlineSeconds", deadlineSooner),
		held("spec.terminationGracePeriodSeconds", graceRepaired),
		held("spec.nodeSelector", whileGated),
		{Path: "spec.tolerations", Marker: immutability.AdditionOnly, Set: true},
		{Path: "spec.schedulingGates", Marker: immutability.DeletionOnly, Keys: []string{"name"}},
	}
}

func claimRules() []immutability.Rule {
	return []immutability.Rule{
		held("spec", nil),
		held("spec.resources.requests.storage", storageGrows),
		held("spec.volumeName", setOnce),
		held("spec.storageClassName", setOnce),
		free("spec.volumeAttributesClassName"),
	}
}

// volumeRules hold whichever source a volume has, and that it has that one.
func volumeRules() []immutability.Rule {
	rules := []immutability.Rule{
		held("spec.volumeMode", nil),
		held("spec.nodeAffinity", setOnce),
		// A driver may be given the secret with which it grows the volume later.
		free("spec.csi.controllerExpandSecretRef"),
	}
	for _, source := range reflect.VisibleFields(reflect.TypeFor[corev1.PersistentVolumeSource]()) {
		name, _, _ := strings.Cut(source.Tag.Get("json"), ",")
		rules = append(rules, held("spec."+name, nil))
	}
	return rules
}

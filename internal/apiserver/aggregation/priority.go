package aggregation

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const (
	// The priorities of custom resources, as in Kubernetes.
	customGroupPriority, customVersionPriority = 1000, 100
	// The priorities of a built-in group that is not in the table.
	otherGroupPriority, otherVersionPriority = 15_500, 15
	// maxRemotePriority is the highest priority of a remote group. All built-in groups have
	// a higher one: kubectl get deployments must not reach another server.
	maxRemotePriority = 15_000
)

// groupPriorities returns the priorities of the built-in groups, which are those of
// Kubernetes. Clients prefer the group with the highest number.
func groupPriorities() map[string]int32 {
	return map[string]int32{
		"":                             18_000,
		"apps":                         17_800,
		"events.k8s.io":                17_750,
		"authentication.k8s.io":        17_700,
		"authorization.k8s.io":         17_600,
		"autoscaling":                  17_500,
		"batch":                        17_400,
		"certificates.k8s.io":          17_300,
		"networking.k8s.io":            17_200,
		"policy":                       17_100,
		"rbac.authorization.k8s.io":    17_000,
		"storage.k8s.io":               16_800,
		"apiextensions.k8s.io":         16_700,
		"admissionregistration.k8s.io": 16_700,
		"scheduling.k8s.io":            16_600,
		"coordination.k8s.io":          16_500,
		"node.k8s.io":                  16_300,
		"discovery.k8s.io":             16_200,
		"resource.k8s.io":              16_200,
		"flowcontrol.apiserver.k8s.io": 16_100,
		"storagemigration.k8s.io":      15_800,
	}
}

// versionPriority returns the priority of a version within its built-in group.
func versionPriority(gv schema.GroupVersion) int32 {
	switch gv {
	case schema.GroupVersion{Version: "v1"}:
		return 1
	case schema.GroupVersion{Group: "autoscaling", Version: "v2"}:
		return 30
	case schema.GroupVersion{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"},
		schema.GroupVersion{Group: "resource.k8s.io", Version: "v1"}:
		return 21
	case schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1beta1"}:
		return 9
	}
	return otherVersionPriority
}

// builtInSpec returns the spec of the local APIService of a built-in group version.
func builtInSpec(gv schema.GroupVersion) apiregistrationv1.APIServiceSpec {
	priority, ok := groupPriorities()[gv.Group]
	if !ok {
		priority = otherGroupPriority
	}
	return apiregistrationv1.APIServiceSpec{
		Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: priority, VersionPriority: versionPriority(gv),
	}
}

// withBoundedPriority returns a remote APIService with a priority that is lower than those
// of the built-in groups.
func withBoundedPriority(service *apiregistrationv1.APIService) *apiregistrationv1.APIService {
	if service.Spec.GroupPriorityMinimum <= maxRemotePriority {
		return service
	}
	bounded := service.DeepCopy()
	bounded.Spec.GroupPriorityMinimum = maxRemotePriority
	return bounded
}

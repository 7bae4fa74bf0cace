package guard

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ExcludedNamespaces returns the namespaces whose objects are never guarded: those of the control
// plane, and that of the guard.
func ExcludedNamespaces() []string {
	return []string{Namespace, "kube-node-lease", "kube-public", "kube-system"}
}

// Excluded reports whether a resource is never guarded, because a cluster whose guard does not answer
// needs its writes: to run nodes, to elect leaders, to give rights, and to remove the guard.
func Excluded(resource schema.GroupResource) bool {
	return slices.Contains(excludedGroups(), resource.Group) || resource.Group == "" && slices.Contains(excludedCore(), resource.Resource)
}

// excludedGroups returns the groups whose resources are all excluded.
func excludedGroups() []string {
	return []string{
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
		"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
		Policies().Group, "rbac.authorization.k8s.io",
	}
}

// excludedCore returns the excluded resources of the core group.
func excludedCore() []string { return []string{"bindings", "componentstatuses", "events", "nodes"} }

// leaderAnnotation is on ConfigMaps and Endpoints that hold the record of a leader election.
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

// holdsElections reports whether objects of a resource may hold the record of a leader election.
func holdsElections(resource schema.GroupResource) bool {
	return resource.Group == "" && (resource.Resource == "configmaps" || resource.Resource == "endpoints")
}

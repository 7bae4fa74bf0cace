package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ExcludedNamespaces returns the namespaces whose objects are never guarded: those of the control
// plane.
func ExcludedNamespaces() []string {
	return []string{"kube-node-lease", "kube-public", "kube-system"}
}

// Excluded reports whether a resource is never guarded, because a cluster
// needs its writes: to run nodes, to elect leaders, to give rights, and to remove a guard that does not answer.
func Excluded(resource schema.GroupResource) bool {
	return slices.Contains(ExcludedGroups(), resource.Group) || resource.Group == "" && slices.Contains(ExcludedCore(), resource.Resource)
}

// ExcludedGroups returns the groups whose resources are all excluded.
func ExcludedGroups() []string {
	return []string{
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
		"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
		Policies().Group, "rbac.authorization.k8s.io",
	}
}

// ExcludedCore returns the excluded resources of the core group.
func ExcludedCore() []string { return []string{"bindings", "componentstatuses", "events", "nodes"} }

// LeaderAnnotation is on ConfigMaps and Endpoints that hold the record of a leader election.
const LeaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

// HoldsElections reports whether objects of a resource may hold the record of a leader election.
func HoldsElections(resource schema.GroupResource) bool {
	return resource.Group == "" && (resource.Resource == "configmaps" || resource.Resource == "endpoints")
}

// OnlyElection reports whether an update of an object that may hold the record of a leader election changes nothing but this record.
// Such an update passes every rule.
func OnlyElection(resource schema.GroupResource, was, is map[string]any) bool {
	return HoldsElections(resource) && equality.Semantic.DeepEqual(withoutElection(was), withoutElection(is))
}

// withoutElection returns an object without the record, and without what every write changes.
func withoutElection(obj map[string]any) map[string]any {
	out := unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)}
	annotations := out.GetAnnotations()
	delete(annotations, LeaderAnnotation)
	if len(annotations) == 0 {
		annotations = nil // so that an object with nothing but the record equals one without annotations
	}
	out.SetAnnotations(annotations)
	out.SetManagedFields(nil)
	out.SetResourceVersion("")
	return out.Object
}

package managers

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Writer is a manager with one of its operations: the name of an entry of managed fields.
type Writer struct {
	Manager   string
	Operation metav1.ManagedFieldsOperationType
}

// WriterOf returns the writer of an entry.
func WriterOf(entry metav1.ManagedFieldsEntry) Writer { return Writer{entry.Manager, entry.Operation} }

// Tool is a program that applies objects from files.
type Tool struct {
	Name string
	// Writer is how the newest version of the tool applies.
	Writer Writer
	// Earlier are the ways in which the tool, or an earlier version of it, applied too. Fields of these entries stay when the tool
	// no longer has them in its files.
	Earlier []Writer
}

// The managers of client-side apply.
const (
	// ClientSideApply is the manager of "kubectl apply".
	ClientSideApply = "kubectl-client-side-apply"
	// BeforeFirstApply is the manager that the API server records for the fields that an object had before its first server-side
	// apply, if the object had no managed fields.
	BeforeFirstApply = "before-first-apply"
)

const (
	apply  = metav1.ManagedFieldsOperationApply
	update = metav1.ManagedFieldsOperationUpdate
)

// Tools returns the tools that are known, in the order in which they are shown.
func Tools() []Tool {
	return []Tool{
		{
			Name: "kubectl", Writer: Writer{"kubectl", apply},
			// "kubectl apply --server-side" writes the last-applied configuration as kubectl-last-applied.
			Earlier: []Writer{{ClientSideApply, update}, {"kubectl-last-applied", apply}},
		},
		{
			Name: "Argo CD", Writer: Writer{"argocd-controller", apply},
			// Without ServerSideApply=true, Argo CD applies with the code of kubectl, under its own name.
			Earlier: []Writer{{"argocd-controller", update}, {"argocd-application-controller", update}},
		},
		{
			Name: "Flux", Writer: Writer{"kustomize-controller", apply},
			Earlier: []Writer{{"kustomize-controller", update}},
		},
		{
			Name: "Flux for Helm", Writer: Writer{"helm-controller", apply},
			Earlier: []Writer{{"helm-controller", update}},
		},
		{
			Name: "Helm", Writer: Writer{"helm", apply},
			// Helm 3, and Helm 4 with --server-side=false, apply with patches.
			Earlier: []Writer{{"helm", update}},
		},
		{
			// kapp compares with its annotation kapp.k14s.io/original and updates objects, so it has no earlier way.
			Name: "kapp", Writer: Writer{"kapp", update},
		},
	}
}

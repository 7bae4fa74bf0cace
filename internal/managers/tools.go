package managers

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Writer is a manager with one of its operations: the name of an entry of managed fields.
type Writer struct {
	Manager   string                            `json:"manager"`
	Operation metav1.ManagedFieldsOperationType `json:"operation,omitempty"`
}

// WriterOf returns the writer of an entry.
func WriterOf(entry metav1.ManagedFieldsEntry) Writer { return Writer{entry.Manager, entry.Operation} }

// Tool is a program that applies objects from files.
type Tool struct {
	Name string
	// Writer is how the newest version of the tool applies.
	Writer Writer
	// Marks are labels and annotations of the objects that the tool applies.
	Marks []string
	// Earlier are the ways in which the tool, or an earlier version of it, applied too. Fields of these entries stay when the tool
	// no longer has them in its files.
	Earlier []Writer
	// ClientSide are those of Earlier with which the tool applies as "kubectl apply" does: it writes the last-applied configuration,
	// and removes the fields that its file no longer has by it.
	ClientSide []Writer
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

// Applies reports whether the tool applies an object: the object has a mark of the tool, or an entry of one of its managers.
func (t Tool) Applies(obj metav1.Object) bool {
	return t.marks(obj) || slices.ContainsFunc(obj.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return WriterOf(entry) == t.Writer || slices.Contains(t.Earlier, WriterOf(entry))
	})
}

// marks reports whether an object has a mark of the tool.
func (t Tool) marks(obj metav1.Object) bool {
	return slices.ContainsFunc(t.Marks, func(mark string) bool {
		_, isLabel := obj.GetLabels()[mark]
		_, isAnnotation := obj.GetAnnotations()[mark]
		return isLabel || isAnnotation
	})
}

// Tools returns the tools that are known, in the order in which they are shown.
func Tools() []Tool {
	return []Tool{
		{
			Name: "kubectl", Writer: Writer{"kubectl", apply},
			// "kubectl apply --server-side" writes the last-applied configuration as kubectl-last-applied.
			Earlier:    []Writer{{ClientSideApply, update}, {"kubectl-last-applied", apply}},
			ClientSide: []Writer{{ClientSideApply, update}},
		},
		{
			Name: "Argo CD", Writer: Writer{"argocd-controller", apply},
			Marks: []string{"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance"},
			// Without ServerSideApply=true, Argo CD applies with the code of kubectl, under its own name.
			Earlier:    []Writer{{"argocd-controller", update}, {"argocd-application-controller", update}},
			ClientSide: []Writer{{"argocd-controller", update}, {"argocd-application-controller", update}},
		},
		{
			Name: "Flux", Writer: Writer{"kustomize-controller", apply},
			Marks:   []string{"kustomize.toolkit.fluxcd.io/name"},
			Earlier: []Writer{{"kustomize-controller", update}},
		},
		{
			Name: "Flux for Helm", Writer: Writer{"helm-controller", apply},
			Marks:   []string{"helm.toolkit.fluxcd.io/name"},
			Earlier: []Writer{{"helm-controller", update}},
		},
		{
			Name: "Helm", Writer: Writer{"helm", apply},
			Marks: []string{"meta.helm.sh/release-name"},
			// Helm 3, and Helm 4 with --server-side=false, apply with patches.
			Earlier: []Writer{{"helm", update}},
		},
		{
			// kapp updates objects. Which fields it removes follows from its annotation kapp.k14s.io/original.
			Name: "kapp", Writer: Writer{"kapp", update},
			Marks: []string{"kapp.k14s.io/app"},
		},
	}
}

// ByName returns how a manager writes: as its tool does, and else by server-side apply.
func ByName(manager string) Writer {
	for _, tool := range Tools() {
		if tool.Writer.Manager == manager {
			return tool.Writer
		}
	}
	return Writer{manager, apply}
}

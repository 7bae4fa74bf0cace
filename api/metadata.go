package api

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Labels and annotations of every object that a package renders. Templates of
// packages select objects by these labels, so names and values are those of KUDO.
const (
	HeritageLabel = "heritage"
	Heritage      = "kudo"
	// OperatorLabel holds the name of the operator, on every object that a package renders.
	OperatorLabel = "kudo.dev/operator"
	// InstanceLabel holds the name of the Instance, on every object that a package renders.
	InstanceLabel = "kudo.dev/instance"

	// PlanAnnotation holds the name of the plan that applied the object last.
	PlanAnnotation = "kudo.dev/plan"
	// PhaseAnnotation holds the phase of the plan.
	PhaseAnnotation = "kudo.dev/phase"
	// StepAnnotation holds the step of the phase.
	StepAnnotation = "kudo.dev/step"
	// VersionAnnotation holds spec.version of the OperatorVersion.
	VersionAnnotation = "kudo.dev/operator-version"
	// DependenciesHashAnnotation, on a pod template, changes with the ConfigMaps and Secrets
	// that the pods use.
	DependenciesHashAnnotation = "kudo.dev/dependencies-hash"
	// PipePodAnnotation is set on the pods of Pipe tasks.
	PipePodAnnotation = "kudo.dev/pipepod"
	// SkipHashAnnotation, on a ConfigMap or a Secret, excludes it from the hash.
	SkipHashAnnotation = "kudo.dev/skip-hash-calculation"
)

// Annotations of rendered objects that KUDO does not have.
const (
	// WaitAnnotation, set in a template, decides whether a plan waits until the object
	// is ready. With "false" the plan never waits. With "true" it waits even if no
	// controller seems to act on the object.
	WaitAnnotation = "holdfast.dev/wait"
	// PipeRunAnnotation, on the pod of a Pipe task, holds the UID of the PlanExecution.
	PipeRunAnnotation = "holdfast.dev/pipe-run"
	// OwnerAnnotation holds the UIDs of the Instances that use a cluster-scoped object,
	// separated by commas. A cluster-scoped object cannot have an owner reference to a
	// namespaced one.
	OwnerAnnotation = "holdfast.dev/instance-uid"
	// OwnerNamesAnnotation holds the same Instances as namespace/name, separated by commas. It
	// tells which Instance used an object after that Instance is gone. The controller acts
	// on OwnerAnnotation only.
	OwnerNamesAnnotation = "holdfast.dev/instance-names"
)

// PlanManager is the field manager of the objects that plans apply.
const PlanManager = "holdfast-operators"

// Owners returns the UIDs of the Instances that use a cluster-scoped object.
func Owners(object metav1.Object) []types.UID {
	var owners []types.UID
	for _, uid := range listed(object, OwnerAnnotation) {
		owners = append(owners, types.UID(uid))
	}
	return owners
}

// OwnerNames returns the Instances that use a cluster-scoped object, each as namespace/name. It
// returns nil for an object that an earlier release applied.
func OwnerNames(object metav1.Object) []string { return listed(object, OwnerNamesAnnotation) }

// listed returns the parts of an annotation that commas separate.
func listed(object metav1.Object, annotation string) []string {
	return slices.DeleteFunc(strings.Split(object.GetAnnotations()[annotation], ","), func(part string) bool { return part == "" })
}

// OwnersText returns the value of OwnerAnnotation for Instances. It does not depend on their
// order.
func OwnersText(owners []types.UID) string {
	texts := make([]string, len(owners))
	for i, uid := range owners {
		texts[i] = string(uid)
	}
	return list(texts)
}

// OwnerAnnotations returns OwnerAnnotation and OwnerNamesAnnotation for the Instances that use an
// object. The values do not depend on their order.
func OwnerAnnotations(owners ...metav1.Object) map[string]string {
	var uids []types.UID
	var names []string
	for _, owner := range owners {
		uids = append(uids, owner.GetUID())
		names = append(names, OwnerName(owner.GetNamespace(), owner.GetName()))
	}
	return map[string]string{OwnerAnnotation: OwnersText(uids), OwnerNamesAnnotation: list(names)}
}

// list returns texts in order, each once, with commas between them.
func list(texts []string) string {
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ",")
}

// OwnerName returns how OwnerNamesAnnotation names an Instance.
func OwnerName(namespace, name string) string { return namespace + "/" + name }

// AdmissionAnnotations returns the annotations of an Instance that admission alone sets.
func AdmissionAnnotations() []string {
	return []string{RecordsAnnotation, SealedHistoryAnnotation, RequesterAnnotation, SealedRecordAnnotation, BindingAnnotation}
}

// Annotations of an Instance.
const (
	// ConsentAnnotation is set by clients. It names the parameters that an upgrade makes
	// immutable, and whose values the client accepts: see Consent.
	ConsentAnnotation = "holdfast.dev/given-parameters"
	// RollbackAnnotation is set by clients. Its value is the name of the OperatorVersion
	// to roll back to. Admission restores the parameters recorded for that version and
	// removes the annotation.
	RollbackAnnotation = "holdfast.dev/rollback-to"
	// TakeOverAnnotation is set by clients. It names the parameters whose values the user takes
	// over from their authors: see RequestTakeOver. Admission removes it.
	TakeOverAnnotation = "holdfast.dev/take-over"
	// InheritedAuthorsAnnotation is set by the controller on an Instance that a plan of
	// another Instance applies. It holds the authors of the values, sealed by package
	// operator/authorship.
	InheritedAuthorsAnnotation = "holdfast.dev/inherited-authors"
	// RecordsAnnotation is set by admission alone. It holds the parameters of earlier operator
	// versions, for a rollback: see Record.
	RecordsAnnotation = "holdfast.dev/recorded-parameters"
	// SealedHistoryAnnotation is set by admission alone. It holds the authors of the
	// recorded parameters: see package operator/authorship.
	SealedHistoryAnnotation = "holdfast.dev/sealed-history"
	// RequesterAnnotation is set by admission alone. It holds the names of the user that
	// requested the last run and of the authors of the parameters, for people. The
	// controller acts on the sealed record only.
	RequesterAnnotation = "holdfast.dev/requested-by"
	// SealedRecordAnnotation is set by admission alone. It holds the record of package
	// operator/authorship.
	SealedRecordAnnotation = "holdfast.dev/sealed-record"
	// BindingAnnotation is set by admission alone. It names the content of the OperatorVersion
	// that admission has checked: see Binding.
	BindingAnnotation = "holdfast.dev/judged-with"

	// CleanupFinalizer keeps a deleted Instance until its plan named cleanup has ended.
	CleanupFinalizer = "kudo.dev.instance.cleanup"
)

package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// report is the result of deleting the content of a namespace.
type report struct {
	// empty says that no object was found.
	empty bool
	// discovery and parsing are the errors of discovery and of parsing its result. With
	// an error, some kinds are unknown.
	discovery, parsing error
	// failures are the errors of listing and deleting objects.
	failures []error
	// remaining counts the objects that still exist, by kind. finalizers counts how many
	// of them have each finalizer.
	remaining  map[schema.GroupResource]int
	finalizers map[string]int
}

// result is the result for one kind.
type result struct {
	found      bool
	err        error
	remaining  int
	finalizers map[string]int
}

// count returns the result for a kind of which these objects still exist.
func count(items []metav1.PartialObjectMetadata, err error) result {
	r := result{found: true, err: err, remaining: len(items), finalizers: map[string]int{}}
	for _, item := range items {
		for _, finalizer := range item.Finalizers {
			r.finalizers[finalizer]++
		}
	}
	return r
}

func (r *report) add(k kind, of result) {
	r.empty = r.empty && !of.found
	if of.err != nil {
		r.failures = append(r.failures, of.err)
	}
	if of.remaining > 0 {
		r.remaining[k.GroupResource()] += of.remaining
	}
	for finalizer, n := range of.finalizers {
		r.finalizers[finalizer] += n
	}
}

// err returns all errors. Objects that still exist are not an error.
func (r *report) err() error {
	return errors.Join(append([]error{r.discovery, r.parsing}, r.failures...)...)
}

// conditions returns the conditions of the namespace, with the wording and in the order
// of Kubernetes.
func (r *report) conditions() []corev1.NamespaceCondition {
	conditions := []corev1.NamespaceCondition{
		{
			Type: corev1.NamespaceDeletionDiscoveryFailure, Reason: "ResourcesDiscovered",
			Message: "All resources successfully discovered",
		},
		{
			Type: corev1.NamespaceDeletionGVParsingFailure, Reason: "ParsedGroupVersions",
			Message: "All legacy kube types successfully parsed",
		},
		{
			Type: corev1.NamespaceDeletionContentFailure, Reason: "ContentDeleted",
			Message: "All content successfully deleted, may be waiting on finalization",
		},
		{
			Type: corev1.NamespaceContentRemaining, Reason: "ContentRemoved",
			Message: "All content successfully removed",
		},
		{
			Type: corev1.NamespaceFinalizersRemaining, Reason: "ContentHasNoFinalizers",
			Message: "All content-preserving finalizers finished",
		},
	}
	for i := range conditions {
		condition := &conditions[i]
		condition.Status = corev1.ConditionFalse
		if reason, message := r.problem(condition.Type); reason != "" {
			condition.Status, condition.Reason, condition.Message = corev1.ConditionTrue, reason, message
		}
	}
	return conditions
}

// problem returns the reason and message of a condition that is true, or "" if the
// condition is false.
func (r *report) problem(condition corev1.NamespaceConditionType) (reason, message string) {
	switch {
	case condition == corev1.NamespaceDeletionDiscoveryFailure && r.discovery != nil:
		message = r.discovery.Error()
		if groups, ok := discovery.GroupDiscoveryFailedErrorGroups(r.discovery); ok {
			message = fmt.Sprintf("Discovery failed for some groups, %d failing: %v", len(groups), r.discovery)
		}
		return "DiscoveryFailed", message
	case condition == corev1.NamespaceDeletionGVParsingFailure && r.parsing != nil:
		return "GroupVersionParsingFailed", r.parsing.Error()
	case condition == corev1.NamespaceDeletionContentFailure && len(r.failures) > 0:
		var failures []string
		for _, err := range r.failures {
			failures = append(failures, err.Error())
		}
		return "ContentDeletionFailed",
			fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(failures), sorted(failures))
	case condition == corev1.NamespaceContentRemaining && len(r.remaining) > 0:
		var kinds []string
		for resource, n := range r.remaining {
			kinds = append(kinds, fmt.Sprintf("%s.%s has %d resource instances", resource.Resource, resource.Group, n))
		}
		return "SomeResourcesRemain", "Some resources are remaining: " + sorted(kinds)
	case condition == corev1.NamespaceFinalizersRemaining && len(r.finalizers) > 0:
		var waiting []string
		for finalizer, n := range r.finalizers {
			waiting = append(waiting, fmt.Sprintf("%s in %d resource instances", finalizer, n))
		}
		return "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: " + sorted(waiting)
	}
	return "", ""
}

func sorted(parts []string) string {
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// setConditions sets the conditions in a status and reports whether the status changed.
// The transition time of a condition changes only if its status does.
func setConditions(status *corev1.NamespaceStatus, conditions []corev1.NamespaceCondition) bool {
	changed := false
	for _, condition := range conditions {
		condition.LastTransitionTime = metav1.Now()
		i := slices.IndexFunc(status.Conditions, func(old corev1.NamespaceCondition) bool { return old.Type == condition.Type })
		if i < 0 {
			status.Conditions = append(status.Conditions, condition)
			changed = true
			continue
		}
		old := &status.Conditions[i]
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		changed = changed || *old != condition
		*old = condition
	}
	return changed
}

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

// report is what a look into a terminating namespace found.
type report struct {
	// empty says that there was nothing, not even before the look.
	empty bool
	// discovery and parsing tell why some kinds are not known.
	discovery, parsing error
	// failures are the kinds whose objects could not be listed or deleted.
	failures []error
	// remaining counts the objects that are still there by kind, and finalizers
	// those that wait for each finalizer.
	remaining  map[schema.GroupResource]int
	finalizers map[string]int
}

// tally is what was found of one kind.
type tally struct {
	found      bool
	err        error
	remaining  int
	finalizers map[string]int
}

func count(items []metav1.PartialObjectMetadata, err error) tally {
	t := tally{found: true, err: err, remaining: len(items), finalizers: map[string]int{}}
	for _, item := range items {
		for _, finalizer := range item.Finalizers {
			t.finalizers[finalizer]++
		}
	}
	return t
}

func (r *report) add(k kind, t tally) {
	r.empty = r.empty && !t.found
	if t.err != nil {
		r.failures = append(r.failures, t.err)
	}
	if t.remaining > 0 {
		r.remaining[k.GroupResource()] += t.remaining
	}
	for finalizer, n := range t.finalizers {
		r.finalizers[finalizer] += n
	}
}

// err is everything that went wrong; what only takes time is not.
func (r *report) err() error {
	return errors.Join(append([]error{r.discovery, r.parsing}, r.failures...)...)
}

// conditions are the report in Kubernetes' words and order.
func (r *report) conditions() []corev1.NamespaceCondition {
	conditions := []corev1.NamespaceCondition{
		{Type: corev1.NamespaceDeletionDiscoveryFailure, Reason: "ResourcesDiscovered", Message: "All resources successfully discovered"},
		{Type: corev1.NamespaceDeletionGVParsingFailure, Reason: "ParsedGroupVersions", Message: "All legacy kube types successfully parsed"},
		{Type: corev1.NamespaceDeletionContentFailure, Reason: "ContentDeleted", Message: "All content successfully deleted, may be waiting on finalization"},
		{Type: corev1.NamespaceContentRemaining, Reason: "ContentRemoved", Message: "All content successfully removed"},
		{Type: corev1.NamespaceFinalizersRemaining, Reason: "ContentHasNoFinalizers", Message: "All content-preserving finalizers finished"},
	}
	for i := range conditions {
		condition := &conditions[i]
		condition.Status = corev1.ConditionFalse
		if reason, message := r.trouble(condition.Type); reason != "" {
			condition.Status, condition.Reason, condition.Message = corev1.ConditionTrue, reason, message
		}
	}
	return conditions
}

// trouble is what makes a condition true: its reason and message, or "".
func (r *report) trouble(condition corev1.NamespaceConditionType) (reason, message string) {
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
		return "ContentDeletionFailed", fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(failures), sorted(failures))
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

// setConditions puts conditions into a status and reports whether that changed
// it. The time of a condition moves only with its status.
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

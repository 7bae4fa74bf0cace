package rules

import (
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func clusterRules() []rule {
	return []rule{
		onStruct(func(r *report, n *corev1.Namespace) {
			if r.create {
				// Kubernetes leaves the index out of this path.
				for _, name := range n.Spec.Finalizers {
					r.under(func() { finalizer(r, string(name)) }, "spec", "finalizers")
				}
			}
		}),

		onField[coordinationv1.LeaseSpec]("leaseDurationSeconds", positive[int32]),
		onField[coordinationv1.LeaseSpec]("leaseTransitions", nonNegative[int32]),
		onStruct(func(r *report, s *coordinationv1.LeaseSpec) {
			if s.PreferredHolder != nil && *s.PreferredHolder != "" && (s.Strategy == nil || *s.Strategy == "") {
				r.forbidden("may only be specified if `strategy` is defined", "preferredHolder")
			}
		}),

		onStruct(priorityClass),

		onField[nodev1.RuntimeClass]("handler", dnsLabel),
		// The path of an error is that of the limits of a container, as in Kubernetes.
		onStruct(func(r *report, o *nodev1.Overhead) {
			requirements(r, &corev1.ResourceRequirements{Limits: o.PodFixed}, containerResource)
		}),
		onField[nodev1.Scheduling]("nodeSelector", labelSet),
		onField[nodev1.Scheduling]("tolerations", differentTolerations),
	}
}

func finalizer(r *report, s string) {
	r.invalidAll(s, validation.IsQualifiedName(s))
	if !isFinalizer(s) {
		r.invalid(s, "name is neither a standard finalizer name nor is it fully qualified")
	}
}

// isFinalizer reports whether a finalizer has a domain, or is one of Kubernetes.
func isFinalizer(s string) bool {
	switch s {
	case string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
		return true
	}
	return strings.Contains(s, "/")
}

// differentTolerations rejects two tolerations that differ in nothing but their tolerationSeconds.
func differentTolerations(r *report, tolerations []corev1.Toleration) {
	for i, t := range tolerations {
		same := func(o corev1.Toleration) bool {
			return o.Key == t.Key && o.Operator == t.Operator && o.Value == t.Value && o.Effect == t.Effect
		}
		if slices.ContainsFunc(tolerations[:i], same) {
			r.duplicate(t, i)
		}
	}
}

// priorityClass reserves names with the prefix "system-" and values above one billion for the classes that Kubernetes
// defines itself.
func priorityClass(r *report, c *schedulingv1.PriorityClass) {
	const highest = 1_000_000_000
	system := map[string]int32{"system-cluster-critical": 2 * highest, "system-node-critical": 2*highest + 1000}
	if strings.HasPrefix(c.Name, "system-") {
		if value, ok := system[c.Name]; !ok || value != c.Value || c.GlobalDefault {
			r.forbidden("priority class names with 'system-' prefix are reserved for system use only", "metadata", "name")
		}
		return
	}
	if c.Value > highest {
		r.forbidden(fmt.Sprintf("maximum allowed value of a user defined priority is %d", highest), "value")
	}
}

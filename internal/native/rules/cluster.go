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
			old, isUpdate := r.old.(*corev1.Namespace)
			if isUpdate && slices.Equal(old.Spec.Finalizers, n.Spec.Finalizers) {
				return
			}
			for i, name := range n.Spec.Finalizers {
				// Kubernetes leaves the index out of the path on create.
				at := []any{"spec", "finalizers"}
				if isUpdate {
					at = append(at, i)
				}
				r.under(func() { finalizer(r, string(name)) }, at...)
			}
		}),

		onField[coordinationv1.LeaseSpec]("leaseDurationSeconds", positive[int32]),
		onField[coordinationv1.LeaseSpec]("leaseTransitions", nonNegative[int32]),
		onStruct(func(r *report, s *coordinationv1.LeaseSpec) {
			if s.PreferredHolder != nil && *s.PreferredHolder != "" && (s.Strategy == nil || *s.Strategy == "") {
				r.forbidden("may only be specified if `strategy` is defined", "preferredHolder")
			}
		}),

		oneOf[schedulingv1.PriorityClass]("preemptionPolicy"), // checked by priorityClass
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
// defines itself. An update cannot change the name and the value.
func priorityClass(r *report, c *schedulingv1.PriorityClass) {
	if !r.create {
		return
	}
	const highest = 1_000_000_000
	if strings.HasPrefix(c.Name, "system-") {
		if problem := systemClassProblem(c, highest); problem != "" {
			r.forbidden("priority class names with 'system-' prefix are reserved for system use only. error: "+problem, "metadata", "name")
		}
	} else if c.Value > highest {
		r.forbidden(fmt.Sprintf("maximum allowed value of a user defined priority is %d", highest), "value")
	}
	if p := c.PreemptionPolicy; p != nil {
		switch *p {
		case "":
			r.required("", "preemptionPolicy")
		case corev1.PreemptLowerPriority, corev1.PreemptNever:
		default:
			r.unsupported(*p, []string{string(corev1.PreemptNever), string(corev1.PreemptLowerPriority)}, "preemptionPolicy")
		}
	}
}

// systemClassProblem says how a class differs from the class of Kubernetes with its name. It returns "" for no difference.
func systemClassProblem(c *schedulingv1.PriorityClass, highest int32) string {
	value, ok := map[string]int32{"system-cluster-critical": 2 * highest, "system-node-critical": 2*highest + 1000}[c.Name]
	switch {
	case !ok:
		return c.Name + " is not a known system priority class"
	case value != c.Value:
		return fmt.Sprintf("value of %s PriorityClass must be %d", c.Name, value)
	case c.GlobalDefault:
		return fmt.Sprintf("globalDefault of %s PriorityClass must be false", c.Name)
	}
	return ""
}

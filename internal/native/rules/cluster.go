package rules

import (
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func clusterRules() []rule {
	return []rule{
		onField[corev1.NamespaceSpec]("finalizers", eachItem(validString[corev1.FinalizerName](finalizer))),
		onField[corev1.NodeSpec]("podCIDRs", podCIDRs),
		onField[corev1.NodeSpec]("taints", func(r *report, taints []corev1.Taint) {
			for i, t := range taints {
				if slices.ContainsFunc(taints[:i], func(o corev1.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }) {
					r.duplicate(t, i)
				}
			}
		}),
		notRequired[corev1.Taint]("key"),
		onField[corev1.Taint]("key", labelKey),
		onField[corev1.Taint]("value", validString[string](validation.IsValidLabelValue)),

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
		onStruct(func(r *report, o *nodev1.Overhead) { quantities(r, o.PodFixed, "limits") }),
		onField[nodev1.Scheduling]("nodeSelector", labelSet),
		onField[nodev1.Scheduling]("tolerations", differentTolerations),
	}
}

func finalizer(s string) []string {
	if messages := validation.IsQualifiedName(s); len(messages) > 0 {
		return messages
	}
	if !strings.Contains(s, "/") && s != string(corev1.FinalizerKubernetes) {
		return []string{"name is neither a standard finalizer name nor is it fully qualified"}
	}
	return nil
}

func podCIDRs(r *report, ranges []string) {
	eachItem(cidr)(r, ranges)
	if len(ranges) > 2 {
		r.invalid(ranges, "may specify no more than one CIDR for each IP family")
	}
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

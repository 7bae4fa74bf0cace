package rules

import (
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"
)

// statusRules returns all rules for updates of the status. The schema is not checked there.
func statusRules() []rule {
	return slices.Concat(
		counts[appsv1.DeploymentStatus]("observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
			"availableReplicas", "unavailableReplicas", "collisionCount", "terminatingReplicas"),
		counts[appsv1.ReplicaSetStatus]("observedGeneration", "replicas", "fullyLabeledReplicas", "readyReplicas",
			"availableReplicas", "terminatingReplicas"),
		counts[appsv1.StatefulSetStatus]("observedGeneration", "replicas", "readyReplicas", "currentReplicas",
			"updatedReplicas", "availableReplicas", "collisionCount"),
		counts[policyv1.PodDisruptionBudgetStatus]("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
		counts[autoscalingv2.HorizontalPodAutoscalerStatus]("currentReplicas", "desiredReplicas"),
		counts[appsv1.DaemonSetStatus]("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
			"numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
		counts[corev1.ReplicationControllerStatus]("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
		counts[batchv1.JobStatus]("active", "succeeded", "failed", "ready", "terminating"),
		[]rule{
			onStruct(func(r *report, s *appsv1.DeploymentStatus) {
				atMost(r, s.Replicas, "status.replicas", replicaCount{"updatedReplicas", s.UpdatedReplicas},
					replicaCount{"readyReplicas", s.ReadyReplicas}, replicaCount{"availableReplicas", s.AvailableReplicas})
				atMost(r, s.ReadyReplicas, "readyReplicas", replicaCount{"availableReplicas", s.AvailableReplicas})
			}),
			onStruct(func(r *report, s *appsv1.ReplicaSetStatus) {
				atMost(r, s.Replicas, "status.replicas", replicaCount{"fullyLabeledReplicas", s.FullyLabeledReplicas},
					replicaCount{"readyReplicas", s.ReadyReplicas}, replicaCount{"availableReplicas", s.AvailableReplicas})
				atMost(r, s.ReadyReplicas, "readyReplicas", replicaCount{"availableReplicas", s.AvailableReplicas})
			}),
			onStruct(func(r *report, s *appsv1.StatefulSetStatus) {
				atMost(r, s.Replicas, "status.replicas", replicaCount{"readyReplicas", s.ReadyReplicas},
					replicaCount{"currentReplicas", s.CurrentReplicas}, replicaCount{"updatedReplicas", s.UpdatedReplicas},
					replicaCount{"availableReplicas", s.AvailableReplicas})
				atMost(r, s.ReadyReplicas, "status.readyReplicas", replicaCount{"availableReplicas", s.AvailableReplicas})
			}),
			onStruct(func(r *report, s *corev1.ReplicationControllerStatus) {
				atMost(r, s.Replicas, "status.replicas", replicaCount{"fullyLabeledReplicas", s.FullyLabeledReplicas},
					replicaCount{"readyReplicas", s.ReadyReplicas}, replicaCount{"availableReplicas", s.AvailableReplicas})
				atMost(r, s.ReadyReplicas, "readyReplicas", replicaCount{"availableReplicas", s.AvailableReplicas})
			}),
			onStruct(func(r *report, d *appsv1.Deployment) {
				if old, ok := r.old.(*appsv1.Deployment); ok {
					keepsCollisions(r, d.Status.CollisionCount, old.Status.CollisionCount)
				}
			}),
			onStruct(func(r *report, s *appsv1.StatefulSet) {
				if old, ok := r.old.(*appsv1.StatefulSet); ok {
					keepsCollisions(r, s.Status.CollisionCount, old.Status.CollisionCount)
				}
			}),
			onStruct(func(r *report, s *appsv1.DaemonSet) {
				if old, ok := r.old.(*appsv1.DaemonSet); ok {
					keepsCollisions(r, s.Status.CollisionCount, old.Status.CollisionCount)
				}
			}),
			onStruct(jobStatus),
			onStruct(nodeStatus),
			onStruct(namespacePhase),

			onField[corev1.ResourceQuotaStatus]("hard", quotaList),
			onField[corev1.ResourceQuotaStatus]("used", quotaList),

			onStruct(attachmentStatus),
			onStruct(claimStatus),
			onStruct(volumeClaimStatus),
			onStruct(apiServiceStatus),
			onStruct(podStatus),
			onStruct(requestStatus),
			onStruct(serviceStatus),
			onStruct(ingressStatus),
			onField[policyv1.PodDisruptionBudgetStatus]("conditions", conditions),
			onField[admissionv1.ValidatingAdmissionPolicyStatus]("conditions", conditions),
			onStruct(expressionWarning),
			onStruct(migrationStatus),
			onField[flowcontrolv1.FlowSchemaStatus]("conditions", typedConditions(func(c flowcontrolv1.FlowSchemaCondition) string {
				return string(c.Type)
			})),
			onField[flowcontrolv1.PriorityLevelConfigurationStatus]("conditions",
				typedConditions(func(c flowcontrolv1.PriorityLevelConfigurationCondition) string { return string(c.Type) })),
			onField[resourcev1.DeviceTaintRuleStatus]("conditions", conditions),
			onField[resourcev1.AllocatedDeviceStatus]("conditions", conditions),
		},
	)
}

// counts returns rules that the fields of T with these JSON names are not negative. The fields are of type int32 or int64,
// or pointers to them.
func counts[T any](names ...string) []rule {
	rules := make([]rule, len(names))
	for i, name := range names {
		switch fieldOf(reflect.TypeFor[T](), name).Type {
		case reflect.TypeFor[int64](), reflect.TypeFor[*int64]():
			rules[i] = onField[T](name, nonNegative[int64])
		default:
			rules[i] = onField[T](name, nonNegative[int32])
		}
	}
	return rules
}

// replicaCount is a field of a status and its value.
type replicaCount struct {
	field string
	count int32
}

// atMost checks that no count is greater than limit. name is the name of the field that holds limit.
func atMost(r *report, limit int32, name string, counts ...replicaCount) {
	for _, p := range counts {
		if p.count > limit {
			r.invalid(p.count, "cannot be greater than "+name, p.field)
		}
	}
}

// typedConditions returns a check that conditions have different types.
func typedConditions[C any](typeOf func(C) string) func(*report, []C) {
	return func(r *report, list []C) {
		for i, c := range list {
			name := typeOf(c)
			if slices.ContainsFunc(list[:i], func(o C) bool { return typeOf(o) == name }) {
				r.duplicate(name, i, "type")
			}
			if name == "" {
				r.required("", i, "type")
			}
		}
	}
}

func conditions(r *report, list []metav1.Condition) {
	r.add(metavalidation.ValidateConditions(list, r.path()))
}

// keepsCollisions rejects a count of hash collisions that becomes smaller.
func keepsCollisions(r *report, updated, old *int32) {
	if old != nil && (updated == nil || *updated < *old) {
		value := int32(0)
		if updated != nil {
			value = *updated
		}
		r.invalid(value, "cannot be decremented", "status", "collisionCount")
	}
}

// serviceStatus checks the addresses of a load balancer. Only Services of this type have them.
func serviceStatus(r *report, s *corev1.Service) {
	ingress := s.Status.LoadBalancer.Ingress
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer && len(ingress) > 0 {
		r.forbidden("may only be used when `spec.type` is 'LoadBalancer'", "status", "loadBalancer", "ingress")
		return
	}
	var stored []string
	if old, ok := r.old.(*corev1.Service); ok {
		for _, ingress := range old.Status.LoadBalancer.Ingress {
			stored = append(stored, ingress.IP)
		}
	}
	for i := range ingress {
		r.under(func() {
			balancerAddress(r, ingress[i].IP, ingress[i].Hostname, stored)
			switch mode := ingress[i].IPMode; {
			case mode == nil && ingress[i].IP != "":
				r.required("must be specified when `ip` is set", "ipMode")
			case mode != nil && ingress[i].IP == "":
				r.forbidden("may not be specified when `ip` is not set", "ipMode")
			case mode != nil && *mode != corev1.LoadBalancerIPModeVIP && *mode != corev1.LoadBalancerIPModeProxy:
				r.unsupported(*mode, []string{string(corev1.LoadBalancerIPModeProxy), string(corev1.LoadBalancerIPModeVIP)}, "ipMode")
			}
		}, "status", "loadBalancer", "ingress", i)
	}
}

func ingressStatus(r *report, i *networkingv1.Ingress) {
	var stored []string
	if old, ok := r.old.(*networkingv1.Ingress); ok {
		for _, ingress := range old.Status.LoadBalancer.Ingress {
			stored = append(stored, ingress.IP)
		}
	}
	for j, ingress := range i.Status.LoadBalancer.Ingress {
		r.under(func() { balancerAddress(r, ingress.IP, ingress.Hostname, stored) }, "status", "loadBalancer", "ingress", j)
	}
}

// namespacePhase checks that a namespace is terminating from its deletion on.
func namespacePhase(r *report, n *corev1.Namespace) {
	// Kubernetes writes this path so.
	switch phase := n.Status.Phase; {
	case n.DeletionTimestamp.IsZero() && phase != corev1.NamespaceActive:
		r.invalid(phase, "may only be 'Active' if `deletionTimestamp` is empty", "status", "Phase")
	case !n.DeletionTimestamp.IsZero() && phase != corev1.NamespaceTerminating:
		r.invalid(phase, "may only be 'Terminating' if `deletionTimestamp` is not empty", "status", "Phase")
	}
}

// balancerAddress checks the address and the name of a load balancer. Both may be empty.
func balancerAddress(r *report, address, host string, stored []string) {
	if address != "" {
		r.under(func() { knownIP(stored...)(r, address) }, "ip")
	}
	if host == "" {
		return
	}
	r.invalidAll(host, validation.IsDNS1123Subdomain(host), "hostname")
	if netutils.ParseIPSloppy(host) != nil {
		r.invalid(host, "must be a DNS name, not an IP address", "hostname")
	}
}

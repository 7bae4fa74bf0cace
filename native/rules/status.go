package rules

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// statusRules is the whole table for the status subresource. Schemas are not asked there: controllers write what they see.
func statusRules() []rule {
	return []rule{
		on[appsv1.DeploymentStatus]("observedGeneration", nonNegative[int64]),
		on[appsv1.DeploymentStatus]("replicas", nonNegative[int32]),
		on[appsv1.DeploymentStatus]("updatedReplicas", nonNegative[int32]),
		on[appsv1.DeploymentStatus]("readyReplicas", nonNegative[int32]),
		on[appsv1.DeploymentStatus]("availableReplicas", nonNegative[int32]),
		on[appsv1.DeploymentStatus]("unavailableReplicas", nonNegative[int32]),
		on[appsv1.DeploymentStatus]("collisionCount", nonNegative[int32]),
		each(func(r *report, s *appsv1.DeploymentStatus) {
			atMost(r, s.Replicas, "status.replicas", counted{"updatedReplicas", s.UpdatedReplicas},
				counted{"readyReplicas", s.ReadyReplicas}, counted{"availableReplicas", s.AvailableReplicas})
			atMost(r, s.ReadyReplicas, "readyReplicas", counted{"availableReplicas", s.AvailableReplicas})
		}),

		on[appsv1.ReplicaSetStatus]("observedGeneration", nonNegative[int64]),
		on[appsv1.ReplicaSetStatus]("replicas", nonNegative[int32]),
		on[appsv1.ReplicaSetStatus]("fullyLabeledReplicas", nonNegative[int32]),
		on[appsv1.ReplicaSetStatus]("readyReplicas", nonNegative[int32]),
		on[appsv1.ReplicaSetStatus]("availableReplicas", nonNegative[int32]),
		each(func(r *report, s *appsv1.ReplicaSetStatus) {
			atMost(r, s.Replicas, "status.replicas", counted{"fullyLabeledReplicas", s.FullyLabeledReplicas},
				counted{"readyReplicas", s.ReadyReplicas}, counted{"availableReplicas", s.AvailableReplicas})
			atMost(r, s.ReadyReplicas, "readyReplicas", counted{"availableReplicas", s.AvailableReplicas})
		}),

		on[appsv1.StatefulSetStatus]("observedGeneration", nonNegative[int64]),
		on[appsv1.StatefulSetStatus]("replicas", nonNegative[int32]),
		on[appsv1.StatefulSetStatus]("readyReplicas", nonNegative[int32]),
		on[appsv1.StatefulSetStatus]("currentReplicas", nonNegative[int32]),
		on[appsv1.StatefulSetStatus]("updatedReplicas", nonNegative[int32]),
		each(func(r *report, s *appsv1.StatefulSetStatus) {
			atMost(r, s.Replicas, "status.replicas", counted{"readyReplicas", s.ReadyReplicas},
				counted{"currentReplicas", s.CurrentReplicas}, counted{"updatedReplicas", s.UpdatedReplicas})
		}),

		on[appsv1.DaemonSetStatus]("currentNumberScheduled", nonNegative[int32]),
		on[appsv1.DaemonSetStatus]("numberMisscheduled", nonNegative[int32]),
		on[appsv1.DaemonSetStatus]("desiredNumberScheduled", nonNegative[int32]),
		on[appsv1.DaemonSetStatus]("numberReady", nonNegative[int32]),
		on[appsv1.DaemonSetStatus]("observedGeneration", nonNegative[int64]),
		on[appsv1.DaemonSetStatus]("updatedNumberScheduled", nonNegative[int32]),
		on[appsv1.DaemonSetStatus]("numberAvailable", nonNegative[int32]),
		on[appsv1.DaemonSetStatus]("numberUnavailable", nonNegative[int32]),

		on[corev1.ReplicationControllerStatus]("replicas", nonNegative[int32]),
		on[corev1.ReplicationControllerStatus]("readyReplicas", nonNegative[int32]),
		on[corev1.ReplicationControllerStatus]("availableReplicas", nonNegative[int32]),

		on[batchv1.JobStatus]("active", nonNegative[int32]),
		on[batchv1.JobStatus]("succeeded", nonNegative[int32]),
		on[batchv1.JobStatus]("failed", nonNegative[int32]),

		on[corev1.ResourceQuotaStatus]("hard", quotaList),
		on[corev1.ResourceQuotaStatus]("used", quotaList),

		each(podStatus),
		each(requestStatus),
		on[corev1.ServiceStatus]("conditions", func(r *report, conditions []metav1.Condition) {
			r.add(metavalidation.ValidateConditions(conditions, r.path()))
		}),
	}
}

type counted struct {
	field string
	count int32
}

// atMost holds counts to the count of which they are a part.
func atMost(r *report, whole int32, name string, parts ...counted) {
	for _, p := range parts {
		if p.count > whole {
			r.invalid(p.count, "cannot be greater than "+name, p.field)
		}
	}
}

// podStatus keeps a pod on its node, and a container that has ended for good in its end.
func podStatus(r *report, p *corev1.Pod) {
	old, ok := r.old.(*corev1.Pod)
	if !ok {
		return
	}
	if p.Spec.NodeName != old.Spec.NodeName {
		r.forbidden("may not be changed directly", "status", "nodeName")
	}
	for i, o := range old.Status.ContainerStatuses {
		if !ended(&old.Spec, o) {
			continue
		}
		for _, n := range p.Status.ContainerStatuses {
			if n.Name == o.Name && n.State.Terminated == nil {
				r.forbidden("may not be transitioned to non-terminated state", "status", "containerStatuses", i, "state")
			}
		}
	}
}

func ended(s *corev1.PodSpec, status corev1.ContainerStatus) bool {
	end := status.State.Terminated
	own := slices.ContainsFunc(s.Containers, func(c corev1.Container) bool { return c.Name == status.Name && c.RestartPolicy != nil })
	switch {
	case end == nil || own || s.RestartPolicy == corev1.RestartPolicyAlways:
		return false
	case s.RestartPolicy == corev1.RestartPolicyOnFailure:
		return end.ExitCode == 0
	default:
		return true
	}
}

package rules

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// statusRules returns all rules for updates of the status. The schema is not checked there.
func statusRules() []rule {
	return []rule{
		onField[appsv1.DeploymentStatus]("observedGeneration", nonNegative[int64]),
		onField[appsv1.DeploymentStatus]("replicas", nonNegative[int32]),
		onField[appsv1.DeploymentStatus]("updatedReplicas", nonNegative[int32]),
		onField[appsv1.DeploymentStatus]("readyReplicas", nonNegative[int32]),
		onField[appsv1.DeploymentStatus]("availableReplicas", nonNegative[int32]),
		onField[appsv1.DeploymentStatus]("unavailableReplicas", nonNegative[int32]),
		onField[appsv1.DeploymentStatus]("collisionCount", nonNegative[int32]),
		onStruct(func(r *report, s *appsv1.DeploymentStatus) {
			atMost(r, s.Replicas, "status.replicas", replicaCount{"updatedReplicas", s.UpdatedReplicas},
				replicaCount{"readyReplicas", s.ReadyReplicas}, replicaCount{"availableReplicas", s.AvailableReplicas})
			atMost(r, s.ReadyReplicas, "readyReplicas", replicaCount{"availableReplicas", s.AvailableReplicas})
		}),

		onField[appsv1.ReplicaSetStatus]("observedGeneration", nonNegative[int64]),
		onField[appsv1.ReplicaSetStatus]("replicas", nonNegative[int32]),
		onField[appsv1.ReplicaSetStatus]("fullyLabeledReplicas", nonNegative[int32]),
		onField[appsv1.ReplicaSetStatus]("readyReplicas", nonNegative[int32]),
		onField[appsv1.ReplicaSetStatus]("availableReplicas", nonNegative[int32]),
		onStruct(func(r *report, s *appsv1.ReplicaSetStatus) {
			atMost(r, s.Replicas, "status.replicas", replicaCount{"fullyLabeledReplicas", s.FullyLabeledReplicas},
				replicaCount{"readyReplicas", s.ReadyReplicas}, replicaCount{"availableReplicas", s.AvailableReplicas})
			atMost(r, s.ReadyReplicas, "readyReplicas", replicaCount{"availableReplicas", s.AvailableReplicas})
		}),

		onField[appsv1.StatefulSetStatus]("observedGeneration", nonNegative[int64]),
		onField[appsv1.StatefulSetStatus]("replicas", nonNegative[int32]),
		onField[appsv1.StatefulSetStatus]("readyReplicas", nonNegative[int32]),
		onField[appsv1.StatefulSetStatus]("currentReplicas", nonNegative[int32]),
		onField[appsv1.StatefulSetStatus]("updatedReplicas", nonNegative[int32]),
		onStruct(func(r *report, s *appsv1.StatefulSetStatus) {
			atMost(r, s.Replicas, "status.replicas", replicaCount{"readyReplicas", s.ReadyReplicas},
				replicaCount{"currentReplicas", s.CurrentReplicas}, replicaCount{"updatedReplicas", s.UpdatedReplicas})
		}),

		onField[appsv1.DaemonSetStatus]("currentNumberScheduled", nonNegative[int32]),
		onField[appsv1.DaemonSetStatus]("numberMisscheduled", nonNegative[int32]),
		onField[appsv1.DaemonSetStatus]("desiredNumberScheduled", nonNegative[int32]),
		onField[appsv1.DaemonSetStatus]("numberReady", nonNegative[int32]),
		onField[appsv1.DaemonSetStatus]("observedGeneration", nonNegative[int64]),
		onField[appsv1.DaemonSetStatus]("updatedNumberScheduled", nonNegative[int32]),
		onField[appsv1.DaemonSetStatus]("numberAvailable", nonNegative[int32]),
		onField[appsv1.DaemonSetStatus]("numberUnavailable", nonNegative[int32]),

		onField[corev1.ReplicationControllerStatus]("replicas", nonNegative[int32]),
		onField[corev1.ReplicationControllerStatus]("readyReplicas", nonNegative[int32]),
		onField[corev1.ReplicationControllerStatus]("availableReplicas", nonNegative[int32]),

		onField[batchv1.JobStatus]("active", nonNegative[int32]),
		onField[batchv1.JobStatus]("succeeded", nonNegative[int32]),
		onField[batchv1.JobStatus]("failed", nonNegative[int32]),

		onField[corev1.ResourceQuotaStatus]("hard", quotaList),
		onField[corev1.ResourceQuotaStatus]("used", quotaList),

		onStruct(podStatus),
		onStruct(requestStatus),
		onField[corev1.ServiceStatus]("conditions", func(r *report, conditions []metav1.Condition) {
			r.add(metavalidation.ValidateConditions(conditions, r.path()))
		}),
	}
}

// replicaCount is a field of a status and its value.
type replicaCount struct {
	field string
	count int32
}

// atMost checks that no count is greater than limit, which is the field name.
func atMost(r *report, limit int32, name string, counts ...replicaCount) {
	for _, p := range counts {
		if p.count > limit {
			r.invalid(p.count, "cannot be greater than "+name, p.field)
		}
	}
}

// podStatus rejects a change of the node of a pod, and the restart of a container that has ended and must not be restarted.
func podStatus(r *report, p *corev1.Pod) {
	old, ok := r.old.(*corev1.Pod)
	if !ok {
		return
	}
	if p.Spec.NodeName != old.Spec.NodeName {
		r.forbidden("may not be changed directly", "status", "nodeName")
	}
	for i, o := range old.Status.ContainerStatuses {
		if !hasEnded(&old.Spec, o) {
			continue
		}
		for _, n := range p.Status.ContainerStatuses {
			if n.Name == o.Name && n.State.Terminated == nil {
				r.forbidden("may not be transitioned to non-terminated state", "status", "containerStatuses", i, "state")
			}
		}
	}
}

// hasEnded reports whether a container has ended and the restart policy of its pod does not restart it.
func hasEnded(s *corev1.PodSpec, status corev1.ContainerStatus) bool {
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

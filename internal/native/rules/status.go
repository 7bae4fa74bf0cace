package rules

import (
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// statusRules returns all rules for updates of the status. The schema is not checked there.
func statusRules() []rule {
	return slices.Concat(
		counts[appsv1.DeploymentStatus]("observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
			"availableReplicas", "unavailableReplicas", "collisionCount"),
		counts[appsv1.ReplicaSetStatus]("observedGeneration", "replicas", "fullyLabeledReplicas", "readyReplicas",
			"availableReplicas"),
		counts[appsv1.StatefulSetStatus]("observedGeneration", "replicas", "readyReplicas", "currentReplicas",
			"updatedReplicas"),
		counts[appsv1.DaemonSetStatus]("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
			"numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
		counts[corev1.ReplicationControllerStatus]("replicas", "readyReplicas", "availableReplicas"),
		counts[batchv1.JobStatus]("active", "succeeded", "failed"),
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
					replicaCount{"currentReplicas", s.CurrentReplicas}, replicaCount{"updatedReplicas", s.UpdatedReplicas})
			}),

			onField[corev1.ResourceQuotaStatus]("hard", quotaList),
			onField[corev1.ResourceQuotaStatus]("used", quotaList),

			onStruct(attachmentStatus),
			onStruct(claimStatus),
			onStruct(apiServiceStatus),
			onStruct(podStatus),
			onStruct(requestStatus),
			onField[corev1.ServiceStatus]("conditions", func(r *report, conditions []metav1.Condition) {
				r.add(metavalidation.ValidateConditions(conditions, r.path()))
			}),
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

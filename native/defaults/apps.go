package defaults

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// revisionHistory is how many old revisions a workload keeps to roll back to.
const revisionHistory = 10

func deployment(d *appsv1.Deployment) {
	fillPtr(&d.Spec.Replicas, 1)
	fillPtr(&d.Spec.RevisionHistoryLimit, revisionHistory)
	fillPtr(&d.Spec.ProgressDeadlineSeconds, 600)
	strategy := &d.Spec.Strategy
	fill(&strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		fillPtr(&strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		fillPtr(&strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		fillPtr(&strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	podSpec(&d.Spec.Template.Spec)
}

func statefulSet(s *appsv1.StatefulSet) {
	fillPtr(&s.Spec.Replicas, 1)
	fillPtr(&s.Spec.RevisionHistoryLimit, revisionHistory)
	fill(&s.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	fillPtr(&s.Spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	fill(&s.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	fill(&s.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	strategy := &s.Spec.UpdateStrategy
	// Unlike a Deployment's, a strategy that names its type without parameters is left without parameters.
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		fillPtr(&strategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && strategy.RollingUpdate != nil {
		fillPtr(&strategy.RollingUpdate.Partition, 0)
		fillPtr(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	podSpec(&s.Spec.Template.Spec)
	each(s.Spec.VolumeClaimTemplates, func(pvc *corev1.PersistentVolumeClaim) {
		fill(&pvc.APIVersion, "v1")
		fill(&pvc.Kind, "PersistentVolumeClaim")
		claim(pvc)
	})
}

func daemonSet(d *appsv1.DaemonSet) {
	fillPtr(&d.Spec.RevisionHistoryLimit, revisionHistory)
	strategy := &d.Spec.UpdateStrategy
	fill(&strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		fillPtr(&strategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		fillPtr(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		fillPtr(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	podSpec(&d.Spec.Template.Spec)
}

func replicaSet(r *appsv1.ReplicaSet) {
	fillPtr(&r.Spec.Replicas, 1)
	podSpec(&r.Spec.Template.Spec)
}

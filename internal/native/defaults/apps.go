package defaults

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// revisionHistory is the default number of old revisions that are kept for a rollback.
const revisionHistory = 10

func deployment(d *appsv1.Deployment) {
	setDefaultPtr(&d.Spec.Replicas, 1)
	setDefaultPtr(&d.Spec.RevisionHistoryLimit, revisionHistory)
	setDefaultPtr(&d.Spec.ProgressDeadlineSeconds, 600)
	strategy := &d.Spec.Strategy
	setDefault(&strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		setDefaultPtr(&strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		setDefaultPtr(&strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		setDefaultPtr(&strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	podSpec(&d.Spec.Template.Spec)
}

func statefulSet(s *appsv1.StatefulSet) {
	setDefaultPtr(&s.Spec.Replicas, 1)
	setDefaultPtr(&s.Spec.RevisionHistoryLimit, revisionHistory)
	setDefault(&s.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	setDefaultPtr(&s.Spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	setDefault(&s.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setDefault(&s.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	strategy := &s.Spec.UpdateStrategy
	// Unlike in a Deployment, rollingUpdate has no default if the client sets the type.
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		setDefaultPtr(&strategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && strategy.RollingUpdate != nil {
		setDefaultPtr(&strategy.RollingUpdate.Partition, 0)
	}
	podSpec(&s.Spec.Template.Spec)
	forEach(s.Spec.VolumeClaimTemplates, func(pvc *corev1.PersistentVolumeClaim) {
		setDefault(&pvc.APIVersion, "v1")
		setDefault(&pvc.Kind, "PersistentVolumeClaim")
		persistentVolumeClaim(pvc)
	})
}

func daemonSet(d *appsv1.DaemonSet) {
	setDefaultPtr(&d.Spec.RevisionHistoryLimit, revisionHistory)
	strategy := &d.Spec.UpdateStrategy
	setDefault(&strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		setDefaultPtr(&strategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		setDefaultPtr(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		setDefaultPtr(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	podSpec(&d.Spec.Template.Spec)
}

func replicaSet(r *appsv1.ReplicaSet) {
	setDefaultPtr(&r.Spec.Replicas, 1)
	podSpec(&r.Spec.Template.Spec)
}

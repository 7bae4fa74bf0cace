package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func workloadRules() []rule {
	return []rule{
		on[appsv1.DeploymentSpec]("replicas", nonNegative[int32]),
		on[appsv1.DeploymentSpec]("selector", notEmpty("deployment")),
		on[appsv1.DeploymentSpec]("minReadySeconds", nonNegative[int32]),
		on[appsv1.DeploymentSpec]("revisionHistoryLimit", nonNegative[int32]),
		on[appsv1.DeploymentSpec]("progressDeadlineSeconds", nonNegative[int32]),
		each(func(r *report, s *appsv1.DeploymentSpec) {
			template(r, s.Selector, &s.Template)
			staysUp(r, &s.Template, "ReplicaSet")
			if d := s.ProgressDeadlineSeconds; d != nil && *d <= s.MinReadySeconds {
				r.invalid(*d, "must be greater than minReadySeconds", "progressDeadlineSeconds")
			}
		}),
		each(deploymentStrategy),

		on[appsv1.ReplicaSetSpec]("replicas", nonNegative[int32]),
		on[appsv1.ReplicaSetSpec]("minReadySeconds", nonNegative[int32]),
		on[appsv1.ReplicaSetSpec]("selector", notEmpty("deployment")), // the word Kubernetes uses for both
		each(func(r *report, s *appsv1.ReplicaSetSpec) {
			template(r, s.Selector, &s.Template)
			staysUp(r, &s.Template, "ReplicaSet")
		}),

		on[appsv1.DaemonSetSpec]("selector", notEmpty("daemonset")),
		on[appsv1.DaemonSetSpec]("minReadySeconds", nonNegative[int32]),
		on[appsv1.DaemonSetSpec]("revisionHistoryLimit", nonNegative[int32]),
		each(func(r *report, s *appsv1.DaemonSetSpec) {
			template(r, s.Selector, &s.Template)
			staysUp(r, &s.Template, "DaemonSet")
		}),
		each(daemonSetStrategy),

		on[appsv1.StatefulSetSpec]("replicas", nonNegative[int32]),
		on[appsv1.StatefulSetSpec]("selector", notEmpty("statefulset")),
		on[appsv1.StatefulSetSpec]("minReadySeconds", nonNegative[int32]),
		on[appsv1.StatefulSetSpec]("revisionHistoryLimit", nonNegative[int32]),
		skip[appsv1.StatefulSetSpec]("volumeClaimTemplates"), // checked when the claims are created
		need[appsv1.StatefulSetSpec]("podManagementPolicy", ""),
		on[appsv1.StatefulSetOrdinals]("start", nonNegative[int32]),
		oneOf[appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy]("whenDeleted", "Delete", "Retain"),
		oneOf[appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy]("whenScaled", "Delete", "Retain"),
		each(func(r *report, s *appsv1.StatefulSetSpec) {
			template(r, s.Selector, &s.Template)
			staysUp(r, &s.Template, "StatefulSet")
		}),
		each(statefulSetStrategy),

		on[corev1.ReplicationControllerSpec]("replicas", nonNegative[int32]),
		on[corev1.ReplicationControllerSpec]("minReadySeconds", nonNegative[int32]),
		need[corev1.ReplicationControllerSpec]("selector", ""),
		on[corev1.ReplicationControllerSpec]("selector", labelSet),
		need[corev1.ReplicationControllerSpec]("template", ""),
		each(func(r *report, s *corev1.ReplicationControllerSpec) {
			if s.Template == nil {
				return
			}
			if len(s.Selector) > 0 && !labels.SelectorFromSet(s.Selector).Matches(labels.Set(s.Template.Labels)) {
				r.invalid(s.Template.Labels, mismatch, "template", "metadata", "labels")
			}
			staysUp(r, s.Template, "ReplicationController")
		}),

		each(func(r *report, c *appsv1.ControllerRevision) {
			if c.Revision < 0 {
				r.invalid(c.Revision, notNegative, "revision")
			}
			if c.Data.Raw == nil && c.Data.Object == nil {
				r.required("data is mandatory", "data")
			}
		}),
	}
}

const mismatch = "`selector` does not match template `labels`"

func notEmpty(kind string) func(*report, metav1.LabelSelector) {
	return func(r *report, s metav1.LabelSelector) {
		if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			r.invalid(s, "empty selector is invalid for "+kind)
		}
	}
}

// template holds the labels of a pod template to its workload's selector. A selector that is missing matches nothing.
func template(r *report, selector *metav1.LabelSelector, t *corev1.PodTemplateSpec) {
	if !selects(selector, t.Labels) {
		r.invalid(t.Labels, mismatch, "template", "metadata", "labels")
	}
}

// staysUp refuses a pod template whose pods would come to an end.
func staysUp(r *report, t *corev1.PodTemplateSpec, kind string) {
	if p := t.Spec.RestartPolicy; p != corev1.RestartPolicyAlways && p != "" {
		r.unsupported(string(p), []string{string(corev1.RestartPolicyAlways)}, "template", "spec", "restartPolicy")
	}
	if t.Spec.ActiveDeadlineSeconds != nil {
		r.forbidden("activeDeadlineSeconds in "+kind+" is not Supported", "template", "spec", "activeDeadlineSeconds")
	}
}

func deploymentStrategy(r *report, s *appsv1.DeploymentStrategy) {
	u := s.RollingUpdate
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if u != nil {
			r.forbidden("may not be specified when strategy `type` is 'Recreate'", "rollingUpdate")
		}
	case appsv1.RollingUpdateDeploymentStrategyType:
		if u == nil {
			r.required("this should be defaulted and never be nil", "rollingUpdate")
			return
		}
		bounded(r, u.MaxUnavailable, "maxUnavailable")
		if u.MaxSurge != nil {
			r.under(func() { countOrPercent(r, *u.MaxSurge) }, "rollingUpdate", "maxSurge")
		}
		if isZero(u.MaxUnavailable) && isZero(u.MaxSurge) {
			r.invalid(valueOrZero(u.MaxUnavailable), "may not be 0 when `maxSurge` is 0", "rollingUpdate", "maxUnavailable")
		}
	}
}

func daemonSetStrategy(r *report, s *appsv1.DaemonSetUpdateStrategy) {
	if s.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return
	}
	u := s.RollingUpdate
	if u == nil {
		r.required("", "rollingUpdate")
		return
	}
	bounded(r, u.MaxUnavailable, "maxUnavailable")
	bounded(r, u.MaxSurge, "maxSurge")
	switch {
	case !isZero(u.MaxUnavailable) && !isZero(u.MaxSurge):
		r.invalid(valueOrZero(u.MaxSurge), "may not be set when maxUnavailable is non-zero", "rollingUpdate", "maxSurge")
	case isZero(u.MaxUnavailable) && isZero(u.MaxSurge):
		r.required("cannot be 0 when maxSurge is 0", "rollingUpdate", "maxUnavailable")
	}
}

func statefulSetStrategy(r *report, s *appsv1.StatefulSetUpdateStrategy) {
	u := s.RollingUpdate
	if u == nil {
		return
	}
	if s.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		r.invalid(u, "only allowed for updateStrategy 'RollingUpdate'", "rollingUpdate")
		return
	}
	if u.Partition != nil && *u.Partition < 0 {
		r.invalid(*u.Partition, notNegative, "rollingUpdate", "partition")
	}
	bounded(r, u.MaxUnavailable, "maxUnavailable")
	if u.MaxUnavailable != nil && isZero(u.MaxUnavailable) {
		r.invalid(*u.MaxUnavailable, "cannot be 0", "rollingUpdate", "maxUnavailable")
	}
}

// bounded is a count, or a percentage of at most 100, of a rolling update.
func bounded(r *report, v *intstr.IntOrString, name string) {
	if v == nil {
		return
	}
	r.under(func() { countOrPercent(r, *v); atMostAll(r, *v) }, "rollingUpdate", name)
}

func valueOrZero(v *intstr.IntOrString) intstr.IntOrString {
	if v == nil {
		return intstr.IntOrString{}
	}
	return *v
}

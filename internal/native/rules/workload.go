package rules

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func workloadRules() []rule {
	return []rule{
		onField[appsv1.DeploymentSpec]("replicas", nonNegative[int32]),
		onField[appsv1.DeploymentSpec]("selector", notEmpty("deployment")),
		onField[appsv1.DeploymentSpec]("minReadySeconds", nonNegative[int32]),
		onField[appsv1.DeploymentSpec]("revisionHistoryLimit", nonNegative[int32]),
		onField[appsv1.DeploymentSpec]("progressDeadlineSeconds", nonNegative[int32]),
		onStruct(func(r *report, s *appsv1.DeploymentSpec) {
			replicaTemplate(r, s.Selector, &s.Template)
			if d := s.ProgressDeadlineSeconds; d != nil && *d <= s.MinReadySeconds {
				r.invalid(*d, "must be greater than minReadySeconds", "progressDeadlineSeconds")
			}
		}),
		when("template", func(_ *report, s *appsv1.DeploymentSpec) bool { return canSelect(s.Selector) }),
		oneOf[appsv1.DeploymentStrategy]("type"),
		onStruct(deploymentStrategy),

		onField[appsv1.ReplicaSetSpec]("replicas", nonNegative[int32]),
		onField[appsv1.ReplicaSetSpec]("minReadySeconds", nonNegative[int32]),
		onField[appsv1.ReplicaSetSpec]("selector", notEmpty("deployment")), // Kubernetes also says deployment here
		when("template", func(_ *report, s *appsv1.ReplicaSetSpec) bool { return canSelect(s.Selector) }),
		onStruct(func(r *report, s *appsv1.ReplicaSetSpec) { replicaTemplate(r, s.Selector, &s.Template) }),

		notRequired[appsv1.DaemonSetSpec]("selector"),
		onField[appsv1.DaemonSetSpec]("selector", notEmpty("daemonset")),
		onField[appsv1.DaemonSetSpec]("minReadySeconds", nonNegative[int32]),
		onField[appsv1.DaemonSetSpec]("revisionHistoryLimit", nonNegative[int32]),
		onStruct(func(r *report, s *appsv1.DaemonSetSpec) {
			templateMatches(r, s.Selector, &s.Template)
			alwaysRestarts(r, &s.Template, "DaemonSet")
		}),
		oneOf[appsv1.DaemonSetUpdateStrategy]("type"),
		onStruct(daemonSetStrategy),

		onField[appsv1.StatefulSetSpec]("replicas", nonNegative[int32]),
		onField[appsv1.StatefulSetSpec]("selector", notEmpty("statefulset")),
		onField[appsv1.StatefulSetSpec]("minReadySeconds", nonNegative[int32]),
		skip[appsv1.StatefulSetSpec]("volumeClaimTemplates"), // Validate checks those of a new StatefulSet
		require[appsv1.StatefulSetSpec]("podManagementPolicy", ""),
		oneOf[appsv1.StatefulSetSpec]("podManagementPolicy"),
		onField[appsv1.StatefulSetSpec]("podManagementPolicy", func(r *report, policy appsv1.PodManagementPolicyType) {
			if policy != "" && policy != appsv1.OrderedReadyPodManagement && policy != appsv1.ParallelPodManagement {
				r.invalid(policy, "must be 'OrderedReady' or 'Parallel'")
			}
		}),
		onField[appsv1.StatefulSetSpec]("serviceName", func(r *report, name string) {
			if r.create {
				dnsLabel(r, name)
			}
		}),
		onField[appsv1.StatefulSetOrdinals]("start", nonNegative[int32]),
		exactly[appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy]("whenDeleted", "Delete", "Retain"),
		exactly[appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy]("whenScaled", "Delete", "Retain"),
		when("template", func(_ *report, s *appsv1.StatefulSetSpec) bool { return canSelect(s.Selector) }),
		onStruct(func(r *report, s *appsv1.StatefulSetSpec) {
			if !canSelect(s.Selector) {
				r.invalid(s.Selector, "", "selector")
			}
			templateMatches(r, s.Selector, &s.Template)
			alwaysRestarts(r, &s.Template, "StatefulSet")
		}),
		oneOf[appsv1.StatefulSetUpdateStrategy]("type"),
		onStruct(statefulSetStrategy),

		onField[corev1.ReplicationControllerSpec]("replicas", nonNegative[int32]),
		onField[corev1.ReplicationControllerSpec]("minReadySeconds", nonNegative[int32]),
		require[corev1.ReplicationControllerSpec]("selector", ""),
		require[corev1.ReplicationControllerSpec]("template", ""),
		onStruct(func(r *report, s *corev1.ReplicationControllerSpec) {
			if s.Template == nil {
				return
			}
			if len(s.Selector) > 0 && !labels.SelectorFromSet(s.Selector).Matches(labels.Set(s.Template.Labels)) {
				r.invalid(s.Template.Labels, selectorMismatch, "template", "metadata", "labels")
			}
			alwaysRestarts(r, s.Template, "ReplicationController")
		}),

		onStruct(func(r *report, c *appsv1.ControllerRevision) {
			if c.Revision < 0 {
				r.invalid(c.Revision, notNegative, "revision")
			}
			if r.create { // package frozen refuses every change
				revisionData(r, c.Data)
			}
		}),
	}
}

// revisionData checks that a revision contains a JSON object.
func revisionData(r *report, data runtime.RawExtension) {
	if data.Object != nil {
		return
	}
	var value any
	err := json.Unmarshal(data.Raw, &value)
	switch _, isObject := value.(map[string]any); {
	case data.Raw == nil, err == nil && value == nil:
		r.required("data is mandatory", "data")
	case err != nil:
		r.invalid("<value omitted>", fmt.Sprintf("error parsing data: %v", err), "data")
	case !isObject:
		r.required("data must be a valid JSON object", "data")
	}
}

const selectorMismatch = "`selector` does not match template `labels`"

func notEmpty(kind string) func(*report, metav1.LabelSelector) {
	return func(r *report, s metav1.LabelSelector) {
		if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			r.invalid(s, "empty selector is invalid for "+kind)
		}
	}
}

// canSelect reports whether a selector has a valid form. Kubernetes does not validate the pod template of a workload with an
// invalid selector.
func canSelect(s *metav1.LabelSelector) bool {
	_, err := metav1.LabelSelectorAsSelector(s)
	return err == nil
}

// replicaTemplate checks the selector and the pod template of a Deployment or a ReplicaSet.
func replicaTemplate(r *report, selector *metav1.LabelSelector, t *corev1.PodTemplateSpec) {
	if !canSelect(selector) {
		r.invalid(selector, "invalid label selector", "selector")
		return
	}
	templateMatches(r, selector, t)
	alwaysRestarts(r, t, "ReplicaSet")
}

// templateMatches checks that the selector of a workload matches the labels of its pod template. A missing selector
// matches nothing.
func templateMatches(r *report, selector *metav1.LabelSelector, t *corev1.PodTemplateSpec) {
	if !selectorMatches(selector, t.Labels) {
		r.invalid(t.Labels, selectorMismatch, "template", "metadata", "labels")
	}
}

// alwaysRestarts rejects a pod template with a restart policy other than Always or with a deadline.
func alwaysRestarts(r *report, t *corev1.PodTemplateSpec, kind string) {
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
	default:
		r.unsupported(s, []string{string(appsv1.RecreateDeploymentStrategyType), string(appsv1.RollingUpdateDeploymentStrategyType)})
	case appsv1.RecreateDeploymentStrategyType:
		if u != nil {
			r.forbidden("may not be specified when strategy `type` is 'Recreate'", "rollingUpdate")
		}
	case appsv1.RollingUpdateDeploymentStrategyType:
		if u == nil {
			r.required("this should be defaulted and never be nil", "rollingUpdate")
			return
		}
		rollingUpdateBound(r, u.MaxUnavailable, "maxUnavailable")
		if u.MaxSurge != nil {
			r.under(func() { countOrPercent(r, *u.MaxSurge) }, "rollingUpdate", "maxSurge")
		}
		if isZero(u.MaxUnavailable) && isZero(u.MaxSurge) {
			r.invalid(valueOrZero(u.MaxUnavailable), "may not be 0 when `maxSurge` is 0", "rollingUpdate", "maxUnavailable")
		}
	}
}

func daemonSetStrategy(r *report, s *appsv1.DaemonSetUpdateStrategy) {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return
	case appsv1.RollingUpdateDaemonSetStrategyType:
	default:
		r.unsupported(s, []string{string(appsv1.OnDeleteDaemonSetStrategyType), string(appsv1.RollingUpdateDaemonSetStrategyType)})
		return
	}
	u := s.RollingUpdate
	if u == nil {
		r.required("", "rollingUpdate")
		return
	}
	rollingUpdateBound(r, u.MaxUnavailable, "maxUnavailable")
	rollingUpdateBound(r, u.MaxSurge, "maxSurge")
	switch {
	case !isZero(u.MaxUnavailable) && !isZero(u.MaxSurge):
		r.invalid(valueOrZero(u.MaxSurge), "may not be set when maxUnavailable is non-zero", "rollingUpdate", "maxSurge")
	case isZero(u.MaxUnavailable) && isZero(u.MaxSurge):
		r.required("cannot be 0 when maxSurge is 0", "rollingUpdate", "maxUnavailable")
	}
}

func statefulSetStrategy(r *report, s *appsv1.StatefulSetUpdateStrategy) {
	u := s.RollingUpdate
	switch {
	case s.Type == "":
		r.required("")
	case s.Type == appsv1.OnDeleteStatefulSetStrategyType && u != nil:
		r.invalid(u, "only allowed for updateStrategy 'RollingUpdate'", "rollingUpdate")
	case s.Type == appsv1.OnDeleteStatefulSetStrategyType:
	case s.Type != appsv1.RollingUpdateStatefulSetStrategyType:
		r.invalid(s, "must be 'RollingUpdate' or 'OnDelete'")
	case u != nil:
		if u.Partition != nil && *u.Partition < 0 {
			r.invalid(*u.Partition, notNegative, "rollingUpdate", "partition")
		}
		rollingUpdateBound(r, u.MaxUnavailable, "maxUnavailable")
		if u.MaxUnavailable != nil && isZero(u.MaxUnavailable) {
			r.invalid(*u.MaxUnavailable, "cannot be 0", "rollingUpdate", "maxUnavailable")
		}
	}
}

// rollingUpdateBound checks a field of a rolling update that is a count, or a percentage of at most 100.
func rollingUpdateBound(r *report, v *intstr.IntOrString, name string) {
	if v == nil {
		return
	}
	r.under(func() { countOrPercent(r, *v); atMost100Percent(r, *v) }, "rollingUpdate", name)
}

func valueOrZero(v *intstr.IntOrString) intstr.IntOrString {
	if v == nil {
		return intstr.IntOrString{}
	}
	return *v
}

package scheduling

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
)

// stay is how many seconds a pod stays on a node that is not ready or unreachable, unless
// its tolerations say otherwise.
const stay = 300

// Tolerations is the admission plugin DefaultTolerationSeconds. It adds a toleration for
// nodes that are not ready and one for unreachable nodes, unless the pod has its own.
type Tolerations struct{ *admission.Handler }

var _ admission.MutationInterface = Tolerations{}

// NewTolerations returns the plugin.
func NewTolerations() Tolerations {
	return Tolerations{admission.NewHandler(admission.Create, admission.Update)}
}

// Admit implements admission.MutationInterface.
func (Tolerations) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerates := func(t corev1.Toleration) bool {
			return (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if slices.ContainsFunc(pod.Spec.Tolerations, tolerates) {
			continue
		}
		seconds := int64(stay)
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		})
	}
	return nil
}

// mergeTolerations appends the tolerations of a class to those of a pod. It leaves out a
// toleration if another one covers it.
func mergeTolerations(ofPod, ofClass []corev1.Toleration) []corev1.Toleration {
	all := slices.Concat(ofPod, ofClass)
	var merged []corev1.Toleration
	for i, t := range all {
		coveredBefore := slices.ContainsFunc(merged, func(other corev1.Toleration) bool { return covers(other, t) })
		// Of two equal tolerations, the first one stays.
		coveredAfter := slices.ContainsFunc(all[i+1:], func(other corev1.Toleration) bool {
			return covers(other, t) && !apiequality.Semantic.DeepEqual(other, t)
		})
		if !coveredBefore && !coveredAfter {
			merged = append(merged, t)
		}
	}
	return merged
}

// covers reports whether a toleration tolerates every taint that another one tolerates, and
// for at least as long.
func covers(wide, narrow corev1.Toleration) bool {
	if apiequality.Semantic.DeepEqual(wide, narrow) {
		return true
	}
	everyKey := wide.Key == "" && wide.Operator == corev1.TolerationOpExists
	switch {
	case wide.Key != narrow.Key && !everyKey:
		return false
	case wide.Effect != narrow.Effect && wide.Effect != "":
		return false
	case wide.Effect == corev1.TaintEffectNoExecute && wide.TolerationSeconds != nil &&
		(narrow.TolerationSeconds == nil || *narrow.TolerationSeconds > *wide.TolerationSeconds):
		return false
	case wide.Operator == corev1.TolerationOpExists:
		return true
	case wide.Operator == corev1.TolerationOpEqual || wide.Operator == "":
		return narrow.Operator == corev1.TolerationOpEqual && wide.Value == narrow.Value
	}
	return false
}

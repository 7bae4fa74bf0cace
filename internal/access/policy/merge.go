package policy

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// mergeRole returns have with the rules, selectors, labels and annotations of want
// that it lacks. It returns have itself if automatic updates are turned off.
func mergeRole(want, have *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	if autoUpdateOff(have) {
		return have
	}
	merged := have.DeepCopy()
	addMissing(&merged.ObjectMeta, want)
	_, missing := validation.Covers(have.Rules, want.Rules)
	merged.Rules = append(merged.Rules, missing...)
	switch {
	case want.AggregationRule == nil:
		// With an aggregationRule, the aggregation controller would replace the
		// default rules.
		merged.AggregationRule = nil
	case merged.AggregationRule == nil:
		merged.AggregationRule = want.AggregationRule.DeepCopy()
	default:
		for _, selector := range want.AggregationRule.ClusterRoleSelectors {
			known := slices.ContainsFunc(merged.AggregationRule.ClusterRoleSelectors, func(s metav1.LabelSelector) bool {
				return apiequality.Semantic.DeepEqual(s, selector)
			})
			if !known {
				merged.AggregationRule.ClusterRoleSelectors = append(merged.AggregationRule.ClusterRoleSelectors, selector)
			}
		}
	}
	return merged
}

// mergeBinding returns have with the subjects, labels and annotations of want that
// it lacks. It returns have itself if automatic updates are turned off.
func mergeBinding(want, have *rbacv1.ClusterRoleBinding) *rbacv1.ClusterRoleBinding {
	if autoUpdateOff(have) {
		return have
	}
	merged := have.DeepCopy()
	addMissing(&merged.ObjectMeta, want)
	for _, subject := range want.Subjects {
		if !slices.Contains(merged.Subjects, subject) {
			merged.Subjects = append(merged.Subjects, subject)
		}
	}
	return merged
}

func autoUpdateOff(obj metav1.Object) bool {
	return obj.GetAnnotations()[rbacv1.AutoUpdateAnnotationKey] == "false"
}

// addMissing adds the labels and annotations of want to into, except those with a key
// that into already has.
func addMissing(into *metav1.ObjectMeta, want metav1.Object) {
	for key, value := range want.GetLabels() {
		if _, ok := into.Labels[key]; !ok {
			metav1.SetMetaDataLabel(into, key, value)
		}
	}
	for key, value := range want.GetAnnotations() {
		if _, ok := into.Annotations[key]; !ok {
			metav1.SetMetaDataAnnotation(into, key, value)
		}
	}
}

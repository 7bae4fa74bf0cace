package policy

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// mergeRole is have with everything that want has.
func mergeRole(want, have *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	if protected(have) {
		return have
	}
	merged := have.DeepCopy()
	addMissing(&merged.ObjectMeta, want)
	_, missing := validation.Covers(have.Rules, want.Rules)
	merged.Rules = append(merged.Rules, missing...)
	switch {
	case want.AggregationRule == nil:
		// The controller would replace our rules by what it collects.
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

// mergeBinding is have with every subject of want.
func mergeBinding(want, have *rbacv1.ClusterRoleBinding) *rbacv1.ClusterRoleBinding {
	if protected(have) {
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

func protected(obj metav1.Object) bool {
	return obj.GetAnnotations()[rbacv1.AutoUpdateAnnotationKey] == "false"
}

// addMissing adds labels and annotations; those that are there win.
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

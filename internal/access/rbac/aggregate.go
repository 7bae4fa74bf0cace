package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Aggregate returns the rules of every ClusterRole in others that a selector of
// role.AggregationRule matches. They are ordered by selector, then by the name of
// the ClusterRole; equal rules appear once. A role never aggregates its own rules,
// even if a selector matches its labels. Without an aggregationRule, Aggregate
// returns role.Rules. The returned rules are not copied; they share memory with
// the roles that they come from.
func Aggregate(role *rbacv1.ClusterRole, others []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	if role.AggregationRule == nil {
		return role.Rules, nil
	}
	others = slices.Clone(others)
	slices.SortFunc(others, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	var rules []rbacv1.PolicyRule
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, fmt.Errorf("aggregationRule.clusterRoleSelectors[%d]: %w", i, err)
		}
		for _, other := range others {
			if other.Name == role.Name || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			for _, rule := range other.Rules {
				known := slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return apiequality.Semantic.DeepEqual(r, rule) })
				if !known {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}

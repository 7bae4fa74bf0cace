package policy

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// target is a rule without its verbs.
type target rbacv1.PolicyRule

// on starts a rule for resources of an API group.
func on(group string, resources ...string) target {
	return target{APIGroups: []string{group}, Resources: slices.Clone(resources)}
}

// at starts a rule for URL paths that are not resources.
func at(paths ...string) target { return target{NonResourceURLs: slices.Clone(paths)} }

// named limits the rule to objects with these names.
func (t target) named(names ...string) target {
	t.ResourceNames = slices.Clone(names)
	return t
}

// may completes the rule with its verbs.
func (t target) may(verbs ...string) rbacv1.PolicyRule {
	t.Verbs = slices.Clone(verbs)
	return rbacv1.PolicyRule(t)
}

func role(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

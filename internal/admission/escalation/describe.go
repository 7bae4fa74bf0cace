package escalation

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// describe formats the rules like Kubernetes does when it forbids an escalation:
// one rule a line, sorted, with the verbs for one resource on one line.
func describe(rules []rbacv1.PolicyRule) string {
	lines := make([]string, 0, len(rules))
	for _, rule := range compact(rules) {
		lines = append(lines, describeRule(rule))
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// compact merges rules for the same resource into one rule with all their verbs.
// It expects the rules that validation.Covers returns, which have one verb, one
// resource and at most one name each.
func compact(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	type target struct{ group, resource, name string }
	var joined []rbacv1.PolicyRule
	index := map[target]int{}
	for _, rule := range rules {
		if len(rule.APIGroups) != 1 || len(rule.Resources) != 1 || len(rule.ResourceNames) > 1 {
			joined = append(joined, rule)
			continue
		}
		t := target{group: rule.APIGroups[0], resource: rule.Resources[0]}
		if len(rule.ResourceNames) == 1 {
			t.name = rule.ResourceNames[0]
		}
		if i, ok := index[t]; ok {
			joined[i].Verbs = append(joined[i].Verbs, rule.Verbs...)
			continue
		}
		index[t] = len(joined)
		rule.Verbs = slices.Clone(rule.Verbs)
		joined = append(joined, rule)
	}
	return joined
}

func describeRule(rule rbacv1.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", rule.APIGroups},
		{"Resources", rule.Resources},
		{"NonResourceURLs", rule.NonResourceURLs},
		{"ResourceNames", rule.ResourceNames},
		{"Verbs", rule.Verbs},
	} {
		if len(part.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", part.name, part.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

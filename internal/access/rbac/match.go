package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Allow reports whether one of the rules allows the request.
func Allow(rules []rbacv1.PolicyRule, request authorizer.Attributes) bool {
	for i := range rules {
		if allows(&rules[i], request) {
			return true
		}
	}
	return false
}

func allows(rule *rbacv1.PolicyRule, request authorizer.Attributes) bool {
	if !hasOrAll(rule.Verbs, request.GetVerb()) {
		return false
	}
	if !request.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(pattern string) bool { return pathMatches(pattern, request.GetPath()) })
	}
	if !hasOrAll(rule.APIGroups, request.GetAPIGroup()) {
		return false
	}
	if len(rule.ResourceNames) > 0 && !slices.Contains(rule.ResourceNames, request.GetName()) {
		return false
	}
	return slices.ContainsFunc(rule.Resources, func(pattern string) bool {
		return resourceMatches(pattern, request.GetResource(), request.GetSubresource())
	})
}

func hasOrAll(list []string, value string) bool {
	return slices.ContainsFunc(list, func(item string) bool { return item == "*" || item == value })
}

// resourceMatches matches the patterns of a rule's resources: "pods",
// "pods/status", "*" for all resources and their subresources, and "*/status" for
// this subresource of all resources.
func resourceMatches(pattern, resource, subresource string) bool {
	if pattern == rbacv1.ResourceAll {
		return true
	}
	if subresource == "" {
		// A review may ask for the resource "pods/log" without a subresource. As in Kubernetes,
		// it matches the pattern "pods/log".
		return pattern == resource
	}
	name, ok := strings.CutSuffix(pattern, subresource)
	if !ok {
		return false
	}
	name, ok = strings.CutSuffix(name, "/")
	return ok && (name == "*" || name == resource)
}

func pathMatches(pattern, path string) bool {
	if pattern == rbacv1.NonResourceAll || pattern == path {
		return true
	}
	return strings.HasSuffix(pattern, "*") && strings.HasPrefix(path, strings.TrimRight(pattern, "*"))
}

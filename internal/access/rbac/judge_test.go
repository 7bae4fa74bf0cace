package rbac_test

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// The functions in this file evaluate RBAC a second time, rule by rule and without an index, as
// k8s.io/kubernetes does. The tests compare the authorizer with them. Kubernetes' own functions are
// in packages that cannot be imported.

// judgeRules returns all rules that apply to a user in a namespace.
func (w *world) judgeRules(u user.Info, namespace string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, binding := range w.clusterBindings {
		if w.judgeSubjects(u, binding.Subjects, "") {
			found, _ := w.judgeRole(binding.RoleRef, "")
			rules = append(rules, found...)
		}
	}
	for _, binding := range w.bindings {
		if namespace != "" && binding.Namespace == namespace && w.judgeSubjects(u, binding.Subjects, namespace) {
			found, _ := w.judgeRole(binding.RoleRef, namespace)
			rules = append(rules, found...)
		}
	}
	return rules
}

// judgeSubjects: a binding applies to a user if one of its subjects is the user, a group of the
// user, or the service account that the user is. A service account without a namespace is in
// the namespace of the binding; a ClusterRoleBinding has none.
func (w *world) judgeSubjects(u user.Info, subjects []rbacv1.Subject, namespace string) bool {
	for _, subject := range subjects {
		account := subject.Namespace
		if account == "" {
			account = namespace
		}
		switch {
		case subject.Kind == "User" && subject.Name == u.GetName(),
			subject.Kind == "Group" && slices.Contains(u.GetGroups(), subject.Name),
			subject.Kind == "ServiceAccount" && account != "" && u.GetName() == "system:serviceaccount:"+account+":"+subject.Name:
			return true
		}
	}
	return false
}

// judgeRole: a binding refers to a ClusterRole, or to a Role in its namespace. The role need not
// exist.
func (w *world) judgeRole(ref rbacv1.RoleRef, namespace string) (rules []rbacv1.PolicyRule, found bool) {
	for _, role := range w.clusterRoles {
		if ref.Kind == "ClusterRole" && role.Name == ref.Name {
			return role.Rules, true
		}
	}
	for _, role := range w.roles {
		if ref.Kind == "Role" && namespace != "" && role.Namespace == namespace && role.Name == ref.Name {
			return role.Rules, true
		}
	}
	return nil, false
}

// judgeRequest: a request is allowed if one rule matches its verb and, for a path, one of its
// paths, or for a resource, its API group, its resource and its name.
func judgeRequest(rules []rbacv1.PolicyRule, request authorizer.Attributes) bool {
	for _, rule := range rules {
		if !slices.Contains(rule.Verbs, "*") && !slices.Contains(rule.Verbs, request.GetVerb()) {
			continue
		}
		if !request.IsResourceRequest() {
			if slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return judgePath(url, request.GetPath()) }) {
				return true
			}
			continue
		}
		group := slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.APIGroups, request.GetAPIGroup())
		name := len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, request.GetName())
		if group && name && judgeResource(rule.Resources, request.GetResource(), request.GetSubresource()) {
			return true
		}
	}
	return false
}

// judgePath: "*" matches every path. Any other star counts only at the end, where it matches the
// rest of the path.
func judgePath(url, path string) bool {
	if url == "*" || url == path {
		return true
	}
	begin, star := url, false
	for strings.HasSuffix(begin, "*") {
		begin, star = begin[:len(begin)-1], true
	}
	return star && strings.HasPrefix(path, begin)
}

// judgeResource: "*" matches every resource and subresource, "*/log" that subresource of every
// resource. Anything else must be the same text as the resource, a slash and the subresource.
func judgeResource(resources []string, resource, subresource string) bool {
	full := resource
	if subresource != "" {
		full += "/" + subresource
	}
	return slices.Contains(resources, "*") || slices.Contains(resources, full) ||
		subresource != "" && slices.Contains(resources, "*/"+subresource)
}

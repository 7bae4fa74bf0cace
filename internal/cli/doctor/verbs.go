package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/policy"
)

// right is a verb of the rules of a resource: "immutable spec.size unless resize".
type right struct {
	verb     string
	resource schema.GroupResource
}

// ruleVerbs lists the users that hold the verbs which lift rules of definitions and policies. A role with the verb * has all of them.
func (s *server) ruleVerbs(ctx context.Context) []check {
	const name = "rights"
	rights, err := s.rights(ctx)
	if err != nil {
		return []check{unread(name, err)}
	}
	if len(rights) == 0 {
		return []check{{Name: name, State: good, Message: "no rule has an exception for users with a verb"}}
	}
	all, err := s.bindings(ctx)
	if err != nil {
		return []check{unread(name, err)}
	}
	var found []check
	for _, right := range rights {
		holders := holdersOf(right, all)
		if len(holders) == 0 {
			holders = []string{"nobody"}
		}
		found = append(found, check{Name: name, State: good, Message: fmt.Sprintf("%s %s: %s", right.verb, right.resource, strings.Join(holders, ", "))})
	}
	return found
}

// rights returns the verbs of the rules that are in force, sorted.
func (s *server) rights(ctx context.Context) ([]right, error) {
	var rights []right
	var crds metav1.PartialObjectMetadataList
	if err := s.get(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crds); err != nil {
		return nil, err
	}
	for i := range crds.Items {
		marks, _ := immutability.ParseMarks(crds.Items[i].Annotations[immutability.Annotation])
		for _, m := range marks {
			if m.Unless != "" {
				rights = append(rights, right{m.Unless, schema.ParseGroupResource(crds.Items[i].Name)})
			}
		}
	}
	var stored unstructured.UnstructuredList
	gvr := policy.Policies()
	err := s.get(ctx, fmt.Sprintf("/apis/%s/%s/%s", gvr.Group, gvr.Version, gvr.Resource), &stored)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	for i := range stored.Items {
		decoded, err := policy.Decode(&stored.Items[i])
		if err != nil {
			return nil, err
		}
		guarded, _, _ := unstructured.NestedStringSlice(stored.Items[i].Object, "status", "guarded")
		for _, verb := range decoded.Verbs() {
			for _, resource := range guarded {
				rights = append(rights, right{verb, schema.ParseGroupResource(resource)})
			}
		}
	}
	slices.SortFunc(rights, func(a, b right) int {
		return strings.Compare(a.verb+" "+a.resource.String(), b.verb+" "+b.resource.String())
	})
	return slices.Compact(rights), nil
}

// binding gives the rules of a role to subjects.
type binding struct {
	// namespace is empty for a binding in all namespaces.
	namespace string
	role      rbacv1.RoleRef
	rules     []rbacv1.PolicyRule
	subjects  []rbacv1.Subject
}

// bindings reads the bindings with the rules of their roles.
func (s *server) bindings(ctx context.Context) ([]binding, error) {
	rbac := s.client.RbacV1()
	clusterRoles, err := rbac.ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	roles, err := rbac.Roles("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	clusterBindings, err := rbac.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	roleBindings, err := rbac.RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	type key struct{ kind, namespace, name string }
	rules := map[key][]rbacv1.PolicyRule{}
	for _, role := range clusterRoles.Items {
		rules[key{"ClusterRole", "", role.Name}] = role.Rules
	}
	for _, role := range roles.Items {
		rules[key{"Role", role.Namespace, role.Name}] = role.Rules
	}
	var all []binding
	for _, b := range clusterBindings.Items {
		all = append(all, binding{role: b.RoleRef, subjects: b.Subjects, rules: rules[key{b.RoleRef.Kind, "", b.RoleRef.Name}]})
	}
	for _, b := range roleBindings.Items {
		of := key{b.RoleRef.Kind, b.Namespace, b.RoleRef.Name}
		if of.kind == "ClusterRole" {
			of.namespace = ""
		}
		all = append(all, binding{namespace: b.Namespace, role: b.RoleRef, subjects: b.Subjects, rules: rules[of]})
	}
	return all, nil
}

// holdersOf returns the subjects that have a right, sorted, each with the role that gives it.
func holdersOf(wanted right, all []binding) []string {
	var holders []string
	for _, b := range all {
		note := ""
		if b.namespace != "" {
			note = " in " + b.namespace
		}
		given := ""
		for _, rule := range b.rules {
			if !allows(rule, wanted) {
				continue
			}
			if given = " (" + b.role.Kind + " " + b.role.Name; slices.Contains(rule.Verbs, rbacv1.VerbAll) {
				given += ", which has all verbs"
			}
			if len(rule.ResourceNames) == 0 {
				break // it has the right for all objects
			}
			given += ", only " + strings.Join(rule.ResourceNames, " ")
		}
		if given == "" {
			continue
		}
		for _, subject := range b.subjects {
			name := subject.Name
			if subject.Namespace != "" {
				name = subject.Namespace + "/" + name
			}
			holders = append(holders, subject.Kind+" "+name+note+given+")")
		}
	}
	slices.Sort(holders)
	return slices.Compact(holders)
}

// allows reports whether a rule of a role gives a right.
func allows(rule rbacv1.PolicyRule, wanted right) bool {
	has := func(list []string, item string) bool {
		return slices.Contains(list, item) || slices.Contains(list, "*")
	}
	return has(rule.Verbs, wanted.verb) && has(rule.APIGroups, wanted.resource.Group) && has(rule.Resources, wanted.resource.Resource)
}

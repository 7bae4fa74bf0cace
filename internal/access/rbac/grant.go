package rbac

import (
	"fmt"
	"iter"
	"strconv"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"
)

// grant is a binding that has the user, or one of the user's groups, as a subject.
// Either cluster or local is set.
type grant struct {
	user    user.Info
	cluster *rbacv1.ClusterRoleBinding
	local   *rbacv1.RoleBinding
}

// grants yields the ClusterRoleBindings of the user and then, if namespace is not
// empty, the user's RoleBindings in it. Each binding is yielded once, even if
// several of its subjects match.
func (a *Authorizer) grants(u user.Info, namespace string) iter.Seq[grant] {
	return func(yield func(grant) bool) {
		keys := keysOf(u)
		for binding := range lookUp[*rbacv1.ClusterRoleBinding](a.clusterRoleBindings, keys) {
			if !yield(grant{user: u, cluster: binding}) {
				return
			}
		}
		if namespace == "" {
			return
		}
		for i, key := range keys {
			keys[i] = namespace + "/" + key
		}
		for binding := range lookUp[*rbacv1.RoleBinding](a.roleBindings, keys) {
			if !yield(grant{user: u, local: binding}) {
				return
			}
		}
	}
}

// lookUp yields every binding that the index has under one of the keys, once.
func lookUp[T comparable](indexer cache.Indexer, keys []string) iter.Seq[T] {
	return func(yield func(T) bool) {
		seen := map[T]bool{}
		for _, key := range keys {
			// ByIndex fails only if the index does not exist, and New added it.
			found, _ := indexer.ByIndex(bySubject, key)
			for _, obj := range found {
				binding, ok := obj.(T)
				if !ok || seen[binding] {
					continue
				}
				seen[binding] = true
				if !yield(binding) {
					return
				}
			}
		}
	}
}

// rules returns the rules of the role that the grant refers to.
func (a *Authorizer) rules(g grant) ([]rbacv1.PolicyRule, error) {
	if g.cluster != nil {
		return a.rulesOf(g.cluster.RoleRef, "")
	}
	return a.rulesOf(g.local.RoleRef, g.local.Namespace)
}

func (a *Authorizer) rulesOf(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "Role":
		role, err := a.roles.Roles(namespace).Get(ref.Name)
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	case "ClusterRole":
		role, err := a.clusterRoles.Get(ref.Name)
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	}
	return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
}

// String formats the grant like Kubernetes does in the reason of a decision.
func (g grant) String() string {
	if b := g.cluster; b != nil {
		return "ClusterRoleBinding " + strconv.Quote(b.Name) + " of " + b.RoleRef.Kind + " " + strconv.Quote(b.RoleRef.Name) +
			" to " + describeSubject(g.user, b.Subjects, "")
	}
	b := g.local
	return "RoleBinding " + strconv.Quote(b.Name+"/"+b.Namespace) + " of " + b.RoleRef.Kind + " " + strconv.Quote(b.RoleRef.Name) +
		" to " + describeSubject(g.user, b.Subjects, b.Namespace)
}

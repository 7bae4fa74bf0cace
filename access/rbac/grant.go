package rbac

import (
	"fmt"
	"iter"
	"strconv"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// grant is a binding that names the user. Of cluster and local, one is set.
type grant struct {
	user    user.Info
	cluster *rbacv1.ClusterRoleBinding
	local   *rbacv1.RoleBinding
}

// grants yields every binding that names the user: those for the whole cluster
// first, then those of the namespace, if there is one. A binding that names the
// user twice comes once.
func (a *Authorizer) grants(u user.Info, namespace string) iter.Seq[grant] {
	return func(yield func(grant) bool) {
		keys := keysOf(u)
		seen := map[any]bool{}
		for _, key := range keys {
			// An index that was added before the informer started never fails.
			found, _ := a.clusterRoleBindings.ByIndex(bySubject, key)
			for _, obj := range found {
				binding, ok := obj.(*rbacv1.ClusterRoleBinding)
				if !ok || seen[binding] {
					continue
				}
				seen[binding] = true
				if !yield(grant{user: u, cluster: binding}) {
					return
				}
			}
		}
		if namespace == "" {
			return
		}
		for _, key := range keys {
			found, _ := a.roleBindings.ByIndex(bySubject, namespace+"/"+key)
			for _, obj := range found {
				binding, ok := obj.(*rbacv1.RoleBinding)
				if !ok || seen[binding] {
					continue
				}
				seen[binding] = true
				if !yield(grant{user: u, local: binding}) {
					return
				}
			}
		}
	}
}

// rules are those of the role that the grant refers to.
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

// String describes the grant as Kubernetes does in the reason of an answer.
func (g grant) String() string {
	if b := g.cluster; b != nil {
		return "ClusterRoleBinding " + strconv.Quote(b.Name) + " of " + b.RoleRef.Kind + " " + strconv.Quote(b.RoleRef.Name) +
			" to " + describeSubject(g.user, b.Subjects, "")
	}
	b := g.local
	return "RoleBinding " + strconv.Quote(b.Name+"/"+b.Namespace) + " of " + b.RoleRef.Kind + " " + strconv.Quote(b.RoleRef.Name) +
		" to " + describeSubject(g.user, b.Subjects, b.Namespace)
}

package columns

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var roleBindings = table(name,
	text("Role", rbacv1.RoleBinding{}.SwaggerDoc()["roleRef"], func(b *rbacv1.RoleBinding) string {
		return b.RoleRef.Kind + "/" + b.RoleRef.Name
	}),
	age,
	subjects("Users", rbacv1.UserKind, roleSubjects).wide(),
	subjects("Groups", rbacv1.GroupKind, roleSubjects).wide(),
	subjects("ServiceAccounts", rbacv1.ServiceAccountKind, roleSubjects).wide())

var clusterRoleBindings = table(name,
	text("Role", rbacv1.ClusterRoleBinding{}.SwaggerDoc()["roleRef"], func(b *rbacv1.ClusterRoleBinding) string {
		return b.RoleRef.Kind + "/" + b.RoleRef.Name
	}),
	age,
	subjects("Users", rbacv1.UserKind, clusterRoleSubjects).wide(),
	subjects("Groups", rbacv1.GroupKind, clusterRoleSubjects).wide(),
	subjects("ServiceAccounts", rbacv1.ServiceAccountKind, clusterRoleSubjects).wide())

func roleSubjects(b *rbacv1.RoleBinding) []rbacv1.Subject { return b.Subjects }

func clusterRoleSubjects(b *rbacv1.ClusterRoleBinding) []rbacv1.Subject { return b.Subjects }

// subjects returns a column with the subjects of one kind of a binding.
func subjects[T runtime.Object](header, kind string, of func(T) []rbacv1.Subject) column {
	return text(header, header+" that the binding binds", func(obj T) string {
		var names []string
		for _, s := range of(obj) {
			switch {
			case s.Kind != kind:
			case kind == rbacv1.ServiceAccountKind:
				names = append(names, s.Namespace+"/"+s.Name)
			default:
				names = append(names, s.Name)
			}
		}
		return strings.Join(names, ", ")
	})
}

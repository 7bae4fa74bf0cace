package defaults

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

func roleBinding(b *rbacv1.RoleBinding) {
	fill(&b.RoleRef.APIGroup, rbacv1.GroupName)
	each(b.Subjects, subject)
}

func clusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	fill(&b.RoleRef.APIGroup, rbacv1.GroupName)
	each(b.Subjects, subject)
}

// subject leaves a service account, which is of the core group, as it is.
func subject(s *rbacv1.Subject) {
	switch s.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
		fill(&s.APIGroup, rbacv1.GroupName)
	}
}

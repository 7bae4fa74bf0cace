package defaults

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

func roleBinding(b *rbacv1.RoleBinding) {
	setDefault(&b.RoleRef.APIGroup, rbacv1.GroupName)
	forEach(b.Subjects, subject)
}

func clusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	setDefault(&b.RoleRef.APIGroup, rbacv1.GroupName)
	forEach(b.Subjects, subject)
}

// subject sets the API group of users and groups. The group of service accounts is the core group,
// which is the empty string.
func subject(s *rbacv1.Subject) {
	switch s.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
		setDefault(&s.APIGroup, rbacv1.GroupName)
	}
}

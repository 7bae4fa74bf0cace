package policy

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// ClusterRoleBindings returns the default ClusterRoleBindings, without
// ControllerRoleBindings. Each call returns new objects.
func ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	return []*rbacv1.ClusterRoleBinding{
		bind("cluster-admin", user.SystemPrivilegedGroup),
		bind("system:monitoring", user.MonitoringGroup),
		bind("system:discovery", user.AllAuthenticated),
		bind("system:basic-user", user.AllAuthenticated),
		bind("system:public-info-viewer", user.AllAuthenticated, user.AllUnauthenticated),
		bind("system:service-account-issuer-discovery", serviceaccount.AllServiceAccountsGroup),
		bind("system:cluster-trust-bundle-discovery", serviceaccount.AllServiceAccountsGroup),
		bind(selfNodeClient, user.NodesGroup),
		// Without a subject, because package access/node authorizes nodes. The
		// binding exists because it exists in Kubernetes.
		bind("system:node"),
		// A kubelet authorizes the requests of the server with a SubjectAccessReview, which
		// this binding allows.
		bindUser("system:kubelet-api-admin", access.KubeletClient),
		bindUser(authorship.ControllerUser, authorship.ControllerUser),
		bindUser(controllerManager, controllerManager),
		bindUser(scheduler, scheduler),
		bindUser(volumeScheduler, scheduler),
		bindUser(nodeProxier, "system:kube-proxy"),
		bindAccount("system:kube-dns", "kube-dns"),
	}
}

// bindAccount returns a ClusterRoleBinding of the role to a service account in kube-system. It has the name of the role.
func bindAccount(role, account string) *rbacv1.ClusterRoleBinding {
	binding := bind(role)
	binding.Subjects = []rbacv1.Subject{systemAccount(account)}
	return binding
}

func systemAccount(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name}
}

func userSubject(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

// bindUser returns a ClusterRoleBinding of the role to a user. It has the name of the role.
func bindUser(role, user string) *rbacv1.ClusterRoleBinding {
	binding := bind(role)
	binding.Subjects = []rbacv1.Subject{userSubject(user)}
	return binding
}

// bind returns a ClusterRoleBinding of the role to the groups. It has the name of
// the role.
func bind(role string, groups ...string) *rbacv1.ClusterRoleBinding {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name:        role,
			Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
			Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
		},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	for _, group := range groups {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group})
	}
	return binding
}

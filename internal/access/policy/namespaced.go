package policy

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// authenticationReader is the name of the Role that reads the certificate authorities of the
// server. The administrator binds it to aggregated API servers.
const authenticationReader = "extension-apiserver-authentication-reader"

// The names of the Roles with which stock components elect a leader.
const (
	lockingControllerManager = "system::leader-locking-kube-controller-manager"
	lockingScheduler         = "system::leader-locking-kube-scheduler"
)

// Roles returns the default Roles, which are in the namespace kube-system. Each call returns
// new objects.
func Roles() []*rbacv1.Role {
	return []*rbacv1.Role{
		systemRole(authenticationReader, on(core, "configmaps").named("extension-apiserver-authentication").may(read...)),
		systemRole(lockingControllerManager, on(coordination, "leases").may("get", "list", "watch", "create", "update")),
		systemRole(lockingScheduler, on(coordination, "leases").may("get", "list", "watch", "create", "update")),
	}
}

// RoleBindings returns the default RoleBindings, which are in the namespace kube-system. Each
// call returns new objects.
func RoleBindings() []*rbacv1.RoleBinding {
	reader := systemBinding(authenticationReader, userSubject(controllerManager), userSubject(scheduler))
	reader.Name = "system::" + authenticationReader
	return []*rbacv1.RoleBinding{
		reader,
		systemBinding(lockingControllerManager, userSubject(controllerManager), systemAccount("kube-controller-manager")),
		systemBinding(lockingScheduler, userSubject(scheduler), systemAccount("kube-scheduler")),
	}
}

func systemRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: systemMeta(name), Rules: rules}
}

// systemBinding returns a RoleBinding of the role to the subjects. It has the name of the role.
func systemBinding(role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: systemMeta(role), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
	}
}

func systemMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: metav1.NamespaceSystem,
		Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
	}
}

// reconcileNamespaced creates the default Roles and RoleBindings that do not exist, and adds the
// missing rules to Roles that do. The namespace must exist.
func reconcileNamespaced(ctx context.Context, client rbacclient.RbacV1Interface) error {
	for _, want := range Roles() {
		err := retry.OnError(retry.DefaultBackoff, raced, func() error {
			return writeRole(ctx, client.Roles(want.Namespace), want)
		})
		if err != nil {
			return fmt.Errorf("role %s: %w", want.Name, err)
		}
	}
	for _, want := range RoleBindings() {
		bindings := client.RoleBindings(want.Namespace)
		_, err := bindings.Get(ctx, want.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = bindings.Create(ctx, want, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("role binding %s: %w", want.Name, err)
		}
	}
	return nil
}

func writeRole(ctx context.Context, client rbacclient.RoleInterface, want *rbacv1.Role) error {
	have, err := client.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, want, metav1.CreateOptions{})
		return err
	}
	if err != nil || autoUpdateOff(have) {
		return err
	}
	merged := have.DeepCopy()
	addMissing(&merged.ObjectMeta, want)
	_, missing := validation.Covers(have.Rules, want.Rules)
	merged.Rules = append(merged.Rules, missing...)
	if apiequality.Semantic.DeepEqual(merged, have) {
		return nil
	}
	_, err = client.Update(ctx, merged, metav1.UpdateOptions{})
	return err
}

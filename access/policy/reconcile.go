package policy

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/util/retry"
)

// writers is how many objects are written at a time: each write waits for a
// disk, and the server is not ready before the last.
const writers = 8

// Reconcile creates the roles and bindings that are missing, and adds to the
// others what is missing from them. Two servers may do it at once, and doing it
// again writes nothing.
func Reconcile(ctx context.Context, client rbacclient.RbacV1Interface) error {
	roles, err := client.ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list cluster roles: %w", err)
	}
	bindings, err := client.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list cluster role bindings: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, want := range ClusterRoles() {
		have := find(roles.Items, func(item *rbacv1.ClusterRole) bool { return item.Name == want.Name })
		group.Go(func() error {
			if err := reconcileRole(ctx, client.ClusterRoles(), want, have); err != nil {
				return fmt.Errorf("cluster role %s: %w", want.Name, err)
			}
			return nil
		})
	}
	for _, want := range ClusterRoleBindings() {
		have := find(bindings.Items, func(item *rbacv1.ClusterRoleBinding) bool { return item.Name == want.Name })
		group.Go(func() error {
			if err := reconcileBinding(ctx, client.ClusterRoleBindings(), want, have); err != nil {
				return fmt.Errorf("cluster role binding %s: %w", want.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func find[T any](items []T, is func(*T) bool) *T {
	for i := range items {
		if is(&items[i]) {
			return &items[i]
		}
	}
	return nil
}

// raced reports whether somebody else wrote the object in the meantime; the
// object is then read again.
func raced(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func reconcileRole(ctx context.Context, client rbacclient.ClusterRoleInterface, want, have *rbacv1.ClusterRole) error {
	return retry.OnError(retry.DefaultBackoff, raced, func() (err error) {
		defer func() {
			if raced(err) {
				have = reread(client.Get(ctx, want.Name, metav1.GetOptions{}))
			}
		}()
		if have == nil {
			_, err = client.Create(ctx, want, metav1.CreateOptions{})
			return err
		}
		merged := mergeRole(want, have)
		if apiequality.Semantic.DeepEqual(merged, have) {
			return nil
		}
		_, err = client.Update(ctx, merged, metav1.UpdateOptions{})
		return err
	})
}

func reconcileBinding(ctx context.Context, client rbacclient.ClusterRoleBindingInterface, want, have *rbacv1.ClusterRoleBinding) error {
	return retry.OnError(retry.DefaultBackoff, raced, func() (err error) {
		defer func() {
			if raced(err) {
				have = reread(client.Get(ctx, want.Name, metav1.GetOptions{}))
			}
		}()
		if have != nil && have.RoleRef != want.RoleRef && !protected(have) {
			// A reference never changes: the binding is made anew.
			uid := have.UID
			err = client.Delete(ctx, have.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
			if err != nil {
				return err
			}
			have = nil
		}
		if have == nil {
			_, err = client.Create(ctx, want, metav1.CreateOptions{})
			return err
		}
		merged := mergeBinding(want, have)
		if apiequality.Semantic.DeepEqual(merged, have) {
			return nil
		}
		_, err = client.Update(ctx, merged, metav1.UpdateOptions{})
		return err
	})
}

// reread is the object as it is now, or nil if it is gone.
func reread[T any](obj *T, err error) *T {
	if err != nil {
		// The next write fails for the same reason, and tells it.
		return nil
	}
	return obj
}

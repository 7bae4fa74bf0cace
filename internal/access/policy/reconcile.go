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

// writers is how many objects are written in parallel. One after the other would be
// slow: each write waits for the disk, and the server becomes ready only after the last.
const writers = 8

// Objects are ClusterRoles and ClusterRoleBindings.
type Objects struct {
	roles    []*rbacv1.ClusterRole
	bindings []*rbacv1.ClusterRoleBinding
}

// Default returns ClusterRoles and ClusterRoleBindings.
func Default() Objects { return Objects{ClusterRoles(), ClusterRoleBindings()} }

// WithControllers returns Default, and the roles and bindings of the controllers in
// kube-controller-manager. A server that runs the controllers itself does without them:
// it would become ready later, because they are more than half of all objects.
func WithControllers() Objects {
	return Objects{append(ClusterRoles(), ControllerRoles()...), append(ClusterRoleBindings(), ControllerRoleBindings()...)}
}

// Reconcile creates the roles and bindings that do not exist, including those in the namespace
// kube-system, and adds missing rules, selectors and subjects to those that do. Several
// servers may call it at the same time. If nothing is missing, it writes nothing.
func Reconcile(ctx context.Context, client rbacclient.RbacV1Interface, objects Objects) error {
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
	group.Go(func() error { return reconcileNamespaced(ctx, client) })
	for _, want := range objects.roles {
		have := find(roles.Items, func(item *rbacv1.ClusterRole) bool { return item.Name == want.Name })
		group.Go(func() error {
			if err := reconcileRole(ctx, client.ClusterRoles(), want, have); err != nil {
				return fmt.Errorf("cluster role %s: %w", want.Name, err)
			}
			return nil
		})
	}
	for _, want := range objects.bindings {
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

func reconcileRole(ctx context.Context, client rbacclient.ClusterRoleInterface, want, have *rbacv1.ClusterRole) error {
	read := func() (*rbacv1.ClusterRole, error) { return client.Get(ctx, want.Name, metav1.GetOptions{}) }
	return retryRaced(have, read, func(have *rbacv1.ClusterRole) error {
		if have == nil {
			_, err := client.Create(ctx, want, metav1.CreateOptions{})
			return err
		}
		merged := mergeRole(want, have)
		if apiequality.Semantic.DeepEqual(merged, have) {
			return nil
		}
		_, err := client.Update(ctx, merged, metav1.UpdateOptions{})
		return err
	})
}

func reconcileBinding(ctx context.Context, client rbacclient.ClusterRoleBindingInterface, want, have *rbacv1.ClusterRoleBinding) error {
	read := func() (*rbacv1.ClusterRoleBinding, error) { return client.Get(ctx, want.Name, metav1.GetOptions{}) }
	return retryRaced(have, read, func(have *rbacv1.ClusterRoleBinding) error {
		if have != nil && have.RoleRef != want.RoleRef && !autoUpdateOff(have) {
			// roleRef is immutable, so the binding is deleted and created again.
			uid := have.UID
			err := client.Delete(ctx, have.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
			if err != nil {
				return err
			}
			have = nil
		}
		if have == nil {
			_, err := client.Create(ctx, want, metav1.CreateOptions{})
			return err
		}
		merged := mergeBinding(want, have)
		if apiequality.Semantic.DeepEqual(merged, have) {
			return nil
		}
		_, err := client.Update(ctx, merged, metav1.UpdateOptions{})
		return err
	})
}

// retryRaced calls write with the stored object, or nil if there is none. If write
// fails because another client wrote the object at the same time, retryRaced reads
// the object again and retries.
func retryRaced[T any](stored *T, read func() (*T, error), write func(stored *T) error) error {
	return retry.OnError(retry.DefaultBackoff, raced, func() error {
		err := write(stored)
		if raced(err) {
			var readErr error
			if stored, readErr = read(); readErr != nil {
				// Either the object was deleted, or the server does not answer. In
				// the latter case the next write fails and returns the error.
				stored = nil
			}
		}
		return err
	})
}

// raced reports whether the error says that another client created, changed or
// deleted the object at the same time.
func raced(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

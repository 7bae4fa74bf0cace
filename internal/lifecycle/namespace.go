package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/reconcile"
)

// namespaces is the controller that deletes the content of terminating namespaces and
// then removes their finalizer.
type namespaces struct {
	client  corev1client.NamespaceInterface
	content content
}

func newNamespaces(c *connection.Connection, config Config) *namespaces {
	return &namespaces{
		client: c.Typed.CoreV1().Namespaces(),
		content: content{
			metadata: c.Metadata, discovery: c.Discovery, stored: config.Stored, storageVersion: config.StorageVersion,
		},
	}
}

func (*namespaces) name() string { return "namespaces" }

// watch enqueues a namespace when it begins to terminate. It ignores later changes of the
// namespace, because this controller makes most of them. The retries of reconcile find the
// changes of its content.
func (n *namespaces) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	_, err := factory.Core().V1().Namespaces().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if ns, ok := obj.(*corev1.Namespace); ok && ns.DeletionTimestamp != nil {
				enqueue(cache.MetaObjectToName(ns))
			}
		},
		UpdateFunc: func(oldObj, newObj any) {
			oldNS, _ := oldObj.(*corev1.Namespace)
			newNS, ok := newObj.(*corev1.Namespace)
			if !ok || newNS.DeletionTimestamp == nil {
				return
			}
			if oldNS == nil || oldNS.DeletionTimestamp == nil || oldNS.UID != newNS.UID {
				enqueue(cache.MetaObjectToName(newNS))
			}
		},
	})
	return err
}

// reconcile deletes the content of a terminating namespace and sets the conditions in its
// status. When a call finds no content, it removes the finalizer.
func (n *namespaces) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	ns, err := n.client.Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read namespace: %w", err)
	}
	if ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return 0, nil
	}

	found := n.content.remove(ctx, ns.Name)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if setConditions(&ns.Status, found.conditions()) {
		if ns, err = n.client.UpdateStatus(ctx, ns, metav1.UpdateOptions{}); err != nil {
			return 0, ignoreNotFound("write status of namespace", err)
		}
	}
	if err := found.err(); err != nil {
		return 0, fmt.Errorf("empty namespace: %w", err)
	}
	// A request that was admitted before the namespace was marked as terminating may
	// create an object after the objects of its kind were deleted. So try again until
	// one pass has found nothing.
	if !found.empty {
		return 0, reconcile.ErrNotYet
	}
	return 0, n.finalize(ctx, ns)
}

// finalize removes the finalizer kubernetes from the namespace.
func (n *namespaces) finalize(ctx context.Context, ns *corev1.Namespace) error {
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(finalizer corev1.FinalizerName) bool {
		return finalizer == corev1.FinalizerKubernetes
	})
	if err := failpoint.Fail("lifecycle:finalize"); err != nil {
		return err
	}
	_, err := n.client.Finalize(ctx, ns, metav1.UpdateOptions{})
	return ignoreNotFound("finalize namespace", err)
}

// ignoreNotFound returns nil if the error says that the object does not exist. It wraps
// other errors with the name of the operation.
func ignoreNotFound(operation string, err error) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}

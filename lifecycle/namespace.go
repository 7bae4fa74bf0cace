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

	"holdfast.dev/holdfast/connection"
	"holdfast.dev/holdfast/reconcile"
)

// namespaces empties terminating namespaces and lets them go.
type namespaces struct {
	client  corev1client.NamespaceInterface
	content content
}

func newNamespaces(c *connection.Connection) *namespaces {
	return &namespaces{
		client:  c.Typed.CoreV1().Namespaces(),
		content: content{metadata: c.Metadata, discovery: c.Discovery},
	}
}

func (*namespaces) name() string { return "namespaces" }

// watch takes a namespace up when it starts to terminate. Later changes are
// mostly our own; what is to be waited for inside is found by trying again.
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

// reconcile removes what is in a terminating namespace, writes into its status
// what it waits for, and releases the namespace after a look that found nothing.
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
	// Creations that were let in before the namespace was marked may land after
	// the deletion of their kind; so what held something is looked at once more.
	if !found.empty {
		return 0, reconcile.ErrNotYet
	}
	return 0, n.release(ctx, ns)
}

// release takes away the finalizer that stands for the content.
func (n *namespaces) release(ctx context.Context, ns *corev1.Namespace) error {
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(finalizer corev1.FinalizerName) bool {
		return finalizer == corev1.FinalizerKubernetes
	})
	_, err := n.client.Finalize(ctx, ns, metav1.UpdateOptions{})
	return ignoreNotFound("finalize namespace", err)
}

// ignoreNotFound says what was done when an error came, unless the error is
// that the object went in the meantime.
func ignoreNotFound(doing string, err error) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

package lifecycle

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/connection"
)

// nodeTimeout is how long after the last renewal of its Lease a node counts as
// unreachable. An unreachable node does not finish the deletion of its pods.
const nodeTimeout = 40 * time.Second

// pods is the controller that finishes the deletion of pods on nodes that do not exist or
// are unreachable.
type pods struct {
	typed kubernetes.Interface
	nodes metadata.Getter
	store cache.Store
}

func newPods(c *connection.Connection) *pods {
	return &pods{
		typed: c.Typed,
		nodes: c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("nodes")),
	}
}

func (*pods) name() string { return "pods" }

// watch enqueues pods that are being deleted. It ignores pods that are not bound to a
// node, because the server deletes them without a grace period.
func (p *pods) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	informer, err := podInformer(factory)
	if err != nil {
		return err
	}
	p.store = informer.GetStore()
	enqueuePod := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" && waitsForNode(pod) {
			enqueue(cache.MetaObjectToName(pod))
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueuePod,
		UpdateFunc: func(_, newObj any) { enqueuePod(newObj) },
	})
	return err
}

// waitsForNode reports whether a pod is being deleted with a grace period. Without a
// grace period, the pod waits only for its finalizers.
func waitsForNode(pod *corev1.Pod) bool {
	period := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && (period == nil || *period > 0)
}

// reconcile waits until the grace period of a pod is over and its node is unreachable. Then
// it deletes the pod with a grace period of zero, which removes the pod from the API.
func (p *pods) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	obj, exists, err := p.store.GetByKey(name.String())
	if err != nil || !exists {
		return 0, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok || !waitsForNode(pod) {
		return 0, nil
	}
	// The deletionTimestamp is the end of the grace period.
	if wait := time.Until(pod.DeletionTimestamp.Time); wait > 0 {
		return wait, nil
	}
	wait, err := p.untilUnreachable(ctx, pod.Spec.NodeName)
	if err != nil || wait > 0 {
		return wait, err
	}
	err = p.typed.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	})
	// A conflict means that the pod was deleted and another of the same name created.
	if apierrors.IsConflict(err) {
		return 0, nil
	}
	return 0, ignoreNotFound("finish pod", err)
}

// untilUnreachable returns the time until a node counts as unreachable, unless it renews
// its Lease. It returns zero if the node is unreachable, or if the node or its Lease does
// not exist.
func (p *pods) untilUnreachable(ctx context.Context, node string) (time.Duration, error) {
	lease, err := p.typed.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read lease of node %s: %w", node, err)
	}
	if lease.Spec.RenewTime == nil {
		return 0, nil
	}
	left := time.Until(lease.Spec.RenewTime.Add(nodeTimeout))
	if left <= 0 {
		return 0, nil
	}
	if _, err := p.nodes.Get(ctx, node, metav1.GetOptions{}); err != nil {
		return 0, ignoreNotFound(fmt.Sprintf("read node %s", node), err)
	}
	// The clock of the node may be fast. The limit makes sure that the pod is reconciled
	// again in time.
	return min(left, nodeTimeout), nil
}

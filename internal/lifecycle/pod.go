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

	"holdfast.dev/holdfast/internal/connection"
)

// nodeTimeout is how long a node may leave its Lease as it is before it counts as unreachable.
// An unreachable node does not finish the deletion of its pods.
const nodeTimeout = 40 * time.Second

// pods is the controller that finishes the deletion of pods on nodes that do not exist or
// are unreachable, and deletes pods on nodes that do not exist.
type pods struct {
	typed kubernetes.Interface
	nodes metadata.Getter
	store cache.Store
	// existing has the nodes.
	existing cache.Store
	// quarantine is how long a node must not exist before its pods are deleted, and how long the server may take to remove a pod.
	quarantine time.Duration
	// deletions has the pods that wait, and renewals the Leases of their nodes.
	deletions, renewals sightings
	// orphans has the pods on nodes that do not exist, and interrupted those of which the server may not have finished the deletion.
	orphans, interrupted sightings
}

func newPods(c *connection.Connection, quarantine time.Duration) *pods {
	if quarantine == 0 {
		quarantine = orphanQuarantine
	}
	return &pods{
		typed:      c.Typed,
		nodes:      c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("nodes")),
		quarantine: quarantine,
	}
}

func (*pods) name() string { return "pods" }

// watch enqueues pods that are being deleted, and pods on nodes that do not exist. Of pods that
// are not bound to a node, it enqueues only those that are interrupted, because the server
// deletes them without a grace period.
func (p *pods) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	informer, err := podInformer(factory)
	if err != nil {
		return err
	}
	p.store = informer.GetStore()
	if err := p.watchNodes(factory, informer, enqueue); err != nil {
		return err
	}
	enqueuePod := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok && (isInterrupted(pod) || pod.Spec.NodeName != "" && (waitsForNode(pod) || p.isOrphan(pod))) {
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
	if err != nil {
		return 0, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !exists || !ok || !p.isOrphan(pod) {
		p.orphans.forget(name.String())
	}
	if !exists || !ok || !waitsForNode(pod) {
		p.deletions.forget(name.String())
		switch {
		case exists && ok && p.isOrphan(pod):
			return p.collect(ctx, name, pod)
		case exists && ok && isInterrupted(pod):
			return p.finish(ctx, name, pod)
		}
		p.interrupted.forget(name.String())
		return 0, nil
	}
	// The controller looks at the Lease from the beginning, so that it sees a renewal during the
	// grace period.
	wait, err := p.untilUnreachable(ctx, pod.Spec.NodeName)
	if wait = max(wait, p.graceLeft(name, pod)); err != nil || wait > 0 {
		return wait, err
	}
	if err := p.remove(ctx, pod); err != nil {
		return 0, err
	}
	p.deletions.forget(name.String())
	return 0, nil
}

// remove deletes a pod with a grace period of zero, which removes the pod from the API.
func (p *pods) remove(ctx context.Context, pod *corev1.Pod) error {
	err := p.typed.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	})
	return ignoreReplaced("finish pod", err)
}

// ignoreReplaced returns nil for an object that does not exist any more. A conflict means that the object
// was deleted and another of the same name created.
func ignoreReplaced(action string, err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return ignoreNotFound(action, err)
}

// graceLeft returns how much of the grace period of a pod is left. The deletionTimestamp is its
// end. If the clock was set back since, the end is far away: the controller then waits for the
// length of the period.
func (p *pods) graceLeft(name cache.ObjectName, pod *corev1.Pod) time.Duration {
	left := time.Until(pod.DeletionTimestamp.Time)
	if seconds := pod.DeletionGracePeriodSeconds; seconds != nil {
		waited := p.deletions.age(name.String(), string(pod.UID))
		left = min(left, time.Duration(*seconds)*time.Second-waited)
	}
	return left
}

// untilUnreachable returns the time until a node counts as unreachable, unless it renews
// its Lease. It returns zero if the node is unreachable, or if the node or its Lease does
// not exist. It does not compare the time in the Lease with the clock of the server: the node
// has written it by its own clock, and either clock may have been set.
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
	if _, err := p.nodes.Get(ctx, node, metav1.GetOptions{}); err != nil {
		return 0, ignoreNotFound(fmt.Sprintf("read node %s", node), err)
	}
	return nodeTimeout - p.renewals.age(node, lease.Spec.RenewTime.String()), nil
}

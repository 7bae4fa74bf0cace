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

// nodeSilence is how old the Lease of a node gets before its pods are taken to
// be finished by nobody else.
const nodeSilence = 40 * time.Second

// pods finishes the deletion of pods whose node is not there to do it.
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

// watch takes pods up when their deletion begins or its deadline moves. Pods
// without a node need no finishing: their deletion waits for nobody.
func (p *pods) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	informer, err := podInformer(factory)
	if err != nil {
		return err
	}
	p.store = informer.GetStore()
	take := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" && unfinished(pod) {
			enqueue(cache.MetaObjectToName(pod))
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    take,
		UpdateFunc: func(_, newObj any) { take(newObj) },
	})
	return err
}

// unfinished reports whether a pod is being deleted and a grace period was
// given. One that is still there without a period waits for its finalizers.
func unfinished(pod *corev1.Pod) bool {
	period := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && (period == nil || *period > 0)
}

// reconcile finishes the deletion of a pod after its grace period, unless its
// node is there.
func (p *pods) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	obj, exists, err := p.store.GetByKey(name.String())
	if err != nil || !exists {
		return 0, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok || !unfinished(pod) {
		return 0, nil
	}
	// The deletion timestamp is when the grace period ends.
	if wait := time.Until(pod.DeletionTimestamp.Time); wait > 0 {
		return wait, nil
	}
	silent, err := p.nodeSilentIn(ctx, pod.Spec.NodeName)
	if err != nil || silent > 0 {
		return silent, err
	}
	err = p.typed.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	})
	// A conflict is a pod created anew under the name.
	if apierrors.IsConflict(err) {
		return 0, nil
	}
	return 0, ignoreNotFound("finish pod", err)
}

// nodeSilentIn is how long a node has until it counts as silent; nothing, if it
// does already or does not exist.
func (p *pods) nodeSilentIn(ctx context.Context, node string) (time.Duration, error) {
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
	left := time.Until(lease.Spec.RenewTime.Add(nodeSilence))
	if left <= 0 {
		return 0, nil
	}
	if _, err := p.nodes.Get(ctx, node, metav1.GetOptions{}); err != nil {
		return 0, ignoreNotFound(fmt.Sprintf("read node %s", node), err)
	}
	// A clock ahead of ours does not put the next look off.
	return min(left, nodeSilence), nil
}

package garbage

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/reconcile"
)

// leave handles a dependent that the server refused to delete because it must be kept. The dependent stays, an Event says so once, and
// owners do not wait for it. The collector tries again when the dependent has changed, and from time to time: a rule that keeps it may
// be changed.
func (c *collector) leave(ctx context.Context, o *object, refused error) error {
	if c.graph.setKept(o) {
		c.report(ctx, o, notice{
			prefix: "kept", Reason: "ObjectKept", message: "its owner is deleted, and the garbage collector leaves it: " + refused.Error(),
		})
	}
	return reconcile.ErrNotYet
}

// notice is an Event about an object: the beginning of its name, its reason and its message.
type notice struct{ prefix, Reason, message string }

// report creates an Event about a dependent that stays. The name of the Event ends with the UID of the dependent, so that another
// process, or this one after a restart, does not create it again.
func (c *collector) report(ctx context.Context, o *object, n notice) {
	if c.config.Events == nil {
		return
	}
	namespace := o.namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	now := metav1.Now()
	_, err := c.config.Events.Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%s", n.prefix, o.uid)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: o.kind.GroupVersion().String(), Kind: o.kind.kind, Namespace: o.namespace, Name: o.name, UID: o.uid,
			ResourceVersion: o.version,
		},
		Type: corev1.EventTypeWarning, Reason: n.Reason, Message: n.message,
		Source: corev1.EventSource{Component: "garbage-collector"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		klog.V(1).InfoS("no Event about a dependent that stays", "kind", o.kind.kind, "namespace", o.namespace, "name", o.name, "err", err)
	}
}

// setKept records that an object is kept, and enqueues the owners that wait for it. It reports whether that is new.
func (g *graph) setKept(o *object) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.objects[o.uid] == nil {
		return false
	}
	_, known := g.kept[o.uid]
	g.kept[o.uid] = struct{}{}
	for _, ref := range o.owners {
		g.enqueueWaiting(ref.UID)
	}
	return !known
}

// isKept reports whether an object is kept. The caller holds the lock.
func (g *graph) isKept(o *object) bool {
	_, found := g.kept[o.uid]
	return found
}

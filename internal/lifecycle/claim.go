package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/admission/volume"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/reconcile"
)

// byClaim is the index of pods by the claims that they refer to.
const byClaim = "claim"

// claims is the controller that keeps a deleted PersistentVolumeClaim until no pod uses it.
type claims struct {
	typed     kubernetes.Interface
	metadata  metadata.Getter
	finalizer finalizer
	store     cache.Store
	pods      cache.SharedIndexInformer
}

func newClaims(c *connection.Connection, config Config) *claims {
	return &claims{
		typed:     c.Typed,
		metadata:  c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")),
		finalizer: finalizer{volume.ClaimFinalizer, config.ProtectVolumes},
	}
}

func (*claims) name() string { return "claims" }

// watch enqueues a claim when it has to get the finalizer, when it is being deleted, and
// when a pod that refers to it ends.
func (c *claims) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	informer, err := claimInformer(factory)
	if err != nil {
		return err
	}
	c.store = informer.GetStore()
	if err := c.finalizer.watch(informer, enqueue); err != nil {
		return err
	}
	return c.watchPods(factory, enqueue)
}

// watchPods enqueues the claims of a pod when the pod is deleted or stopped.
func (c *claims) watchPods(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	pods, err := podInformer(factory)
	if err != nil {
		return err
	}
	c.pods = pods
	if err := pods.AddIndexers(cache.Indexers{byClaim: claimsOf}); err != nil {
		return err
	}
	released := func(obj any) {
		if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = deleted.Obj
		}
		if pod, ok := obj.(*corev1.Pod); ok {
			for _, name := range volume.Claims(pod) {
				enqueue(cache.NewObjectName(pod.Namespace, name))
			}
		}
	}
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: released,
		UpdateFunc: func(oldObj, newObj any) {
			oldPod, _ := oldObj.(*corev1.Pod)
			newPod, ok := newObj.(*corev1.Pod)
			// An update with another UID stands for a deletion and a creation.
			if ok && oldPod != nil && (oldPod.UID != newPod.UID || volume.IsStopped(newPod)) {
				released(oldPod)
			}
		},
	})
	return err
}

// claimsOf is the function of the index byClaim.
func claimsOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	keys := volume.Claims(pod)
	for i, name := range keys {
		keys[i] = cache.NewObjectName(pod.Namespace, name).String()
	}
	return keys, nil
}

// reconcile adds the finalizer to a claim that lacks it. It removes the finalizer from a
// deleted claim that no pod uses.
func (c *claims) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	obj, exists, err := c.store.GetByKey(name.String())
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if err != nil || !exists || !ok {
		return 0, err
	}
	objects := c.metadata.Namespace(name.Namespace)
	if c.finalizer.isMissing(claim) {
		return 0, c.finalizer.attach(ctx, objects, claim)
	}
	if !c.finalizer.holds(claim) {
		return 0, nil
	}
	used, err := c.isUsed(ctx, claim)
	if err != nil || used {
		return 0, err
	}
	return 0, c.finalizer.detach(ctx, objects, claim)
}

// isUsed reports whether a pod uses the claim. Before it says no, it reads the pods from the
// server, because the informer may not have a new pod yet.
func (c *claims) isUsed(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	if !c.pods.HasSynced() {
		return false, reconcile.ErrNotYet
	}
	found, err := c.pods.GetIndexer().ByIndex(byClaim, cache.MetaObjectToName(claim).String())
	if err != nil {
		return false, fmt.Errorf("pods of claim: %w", err)
	}
	uses := func(obj any) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && volume.Uses(pod, claim)
	}
	if slices.ContainsFunc(found, uses) {
		return true, nil
	}
	live, err := c.typed.CoreV1().Pods(claim.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("pods of claim: %w", err)
	}
	if slices.ContainsFunc(live.Items, func(pod corev1.Pod) bool { return volume.Uses(&pod, claim) }) {
		// If the pod is deleted before the informer sees it, no event says so: look again.
		return true, reconcile.ErrNotYet
	}
	return false, nil
}

package lifecycle

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/connection"
	"holdfast.dev/holdfast/lifecycle/quota"
	"holdfast.dev/holdfast/reconcile"
)

// quotaAttempts is how often a status is written at once when somebody else was
// quicker.
const quotaAttempts = 5

// quotas keeps the status of every ResourceQuota: the limits that hold, and what
// is used of them.
type quotas struct {
	typed  kubernetes.Interface
	ledger *quota.Ledger
	store  cache.Store
	// measured are the objects of kinds of which more than the number counts.
	measured map[schema.GroupResource]cache.SharedIndexInformer
}

func newQuotas(c *connection.Connection, ledger *quota.Ledger) *quotas {
	return &quotas{typed: c.Typed, ledger: ledger}
}

func (*quotas) name() string { return "quotas" }

// watch takes a quota up when it changes, and when the ledger says that what is
// used did.
func (q *quotas) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	q.ledger.Notify(enqueue)
	core := factory.Core().V1()
	informer := core.ResourceQuotas().Informer()
	q.store = informer.GetStore()
	take := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			enqueue(name)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: take, DeleteFunc: take,
		UpdateFunc: func(_, newObj any) { take(newObj) },
	}); err != nil {
		return err
	}
	pods, err := podInformer(factory)
	if err != nil {
		return err
	}
	services, claims := core.Services().Informer(), core.PersistentVolumeClaims().Informer()
	if err := services.SetTransform(shrinkService); err != nil {
		return err
	}
	if err := claims.SetTransform(shrinkClaim); err != nil {
		return err
	}
	q.measured = map[schema.GroupResource]cache.SharedIndexInformer{
		corev1.Resource("pods"): pods, corev1.Resource("services"): services, corev1.Resource("persistentvolumeclaims"): claims,
	}
	for resource, informer := range q.measured {
		if _, err := informer.AddEventHandler(q.measure(resource)); err != nil {
			return err
		}
	}
	return nil
}

// measure tells the ledger of the objects of one kind.
func (q *quotas) measure(resource schema.GroupResource) cache.ResourceEventHandler {
	observe := func(obj any) {
		if o, ok := obj.(quota.Object); ok {
			q.ledger.Observe(resource, o)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    observe,
		UpdateFunc: func(_, newObj any) { observe(newObj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if o, ok := obj.(quota.Object); ok {
				q.ledger.Forget(resource, o)
			}
		},
	}
}

// reconcile writes the status of a quota if it should say something else.
func (q *quotas) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	obj, exists, err := q.store.GetByKey(name.String())
	if err != nil {
		return 0, err
	}
	object, ok := obj.(*corev1.ResourceQuota)
	if !exists || !ok {
		q.ledger.Close(name)
		return 0, nil
	}
	live := false
	for range quotaAttempts {
		if err := q.ledger.Open(object, func() ([]quota.Object, error) { return q.objects(name.Namespace) }); err != nil {
			return 0, err
		}
		r := q.ledger.Reckon(object, time.Now())
		if !live && r.Doubtful {
			if object, err = q.read(ctx, name); err != nil || object == nil {
				return 0, err
			}
			live = true
			continue
		}
		again, err := q.write(ctx, object, r)
		if !apierrors.IsConflict(err) {
			return again, err
		}
		if object, err = q.read(ctx, name); err != nil || object == nil {
			return 0, err
		}
		live = true
	}
	return 0, reconcile.ErrNotYet
}

// read is a quota as it is now, nil if it is gone; that will be seen.
func (q *quotas) read(ctx context.Context, name cache.ObjectName) (*corev1.ResourceQuota, error) {
	object, err := q.typed.CoreV1().ResourceQuotas(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreNotFound("read resource quota", err)
	}
	return object, nil
}

// objects are those of a namespace that are measured.
func (q *quotas) objects(namespace string) ([]quota.Object, error) {
	var objects []quota.Object
	for _, informer := range q.measured {
		if !informer.HasSynced() {
			return nil, reconcile.ErrNotYet
		}
		found, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
		if err != nil {
			return nil, fmt.Errorf("objects in namespace %s: %w", namespace, err)
		}
		for _, obj := range found {
			if o, ok := obj.(quota.Object); ok {
				objects = append(objects, o)
			}
		}
	}
	return objects, nil
}

// write makes a reckoning the status of a quota and says when to look again.
func (q *quotas) write(ctx context.Context, object *corev1.ResourceQuota, r quota.Reckoning) (time.Duration, error) {
	if r.Stale {
		return 0, nil
	}
	name := cache.MetaObjectToName(object)
	if quotav1.Equals(object.Status.Hard, object.Spec.Hard) && quotav1.Equals(object.Status.Used, r.Used) {
		q.ledger.Settle(name, r, "")
		return r.Again, notYet(r)
	}
	if r.Wait > 0 {
		return r.Wait, nil
	}
	object = object.DeepCopy()
	object.Status = corev1.ResourceQuotaStatus{Hard: object.Spec.Hard, Used: r.Used}
	written, err := q.typed.CoreV1().ResourceQuotas(object.Namespace).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	switch {
	case err == nil:
		q.ledger.Settle(name, r, written.ResourceVersion)
		return r.Again, notYet(r)
	case apierrors.IsConflict(err):
		return 0, err
	default:
		q.ledger.Settle(name, r, "")
		return 0, ignoreNotFound("write status of resource quota", err)
	}
}

// notYet has a quota looked at again of which not all is known.
func notYet(r quota.Reckoning) error {
	if r.Complete {
		return nil
	}
	return reconcile.ErrNotYet
}

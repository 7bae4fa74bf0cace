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

	"holdfast.dev/holdfast/internal/admission/quota"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/reconcile"
)

// quotaAttempts is how often one call of reconcile tries to write the status of a quota, if
// other clients change the quota at the same time.
const quotaAttempts = 5

// quotas is the controller that writes the status of ResourceQuotas: the limits and the
// usage.
type quotas struct {
	typed  kubernetes.Interface
	ledger *quota.Ledger
	store  cache.Store
	// evaluated holds the informers of the evaluated kinds, see package quota.
	evaluated map[schema.GroupResource]cache.SharedIndexInformer
}

func newQuotas(c *connection.Connection, ledger *quota.Ledger) *quotas {
	return &quotas{typed: c.Typed, ledger: ledger}
}

func (*quotas) name() string { return "quotas" }

// watch enqueues a quota when it changes, and when the ledger notices that its usage may
// have changed.
func (q *quotas) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	q.ledger.Notify(enqueue)
	core := factory.Core().V1()
	informer := core.ResourceQuotas().Informer()
	q.store = informer.GetStore()
	enqueueQuota := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			enqueue(name)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueueQuota, DeleteFunc: enqueueQuota,
		UpdateFunc: func(_, newObj any) { enqueueQuota(newObj) },
	}); err != nil {
		return err
	}
	pods, err := podInformer(factory)
	if err != nil {
		return err
	}
	claims, err := claimInformer(factory)
	if err != nil {
		return err
	}
	services := core.Services().Informer()
	if err := services.SetTransform(shrinkService); err != nil {
		return err
	}
	q.evaluated = map[schema.GroupResource]cache.SharedIndexInformer{
		corev1.Resource("pods"):                   pods,
		corev1.Resource("services"):               services,
		corev1.Resource("persistentvolumeclaims"): claims,
	}
	for resource, informer := range q.evaluated {
		if _, err := informer.AddEventHandler(q.observer(resource)); err != nil {
			return err
		}
	}
	return nil
}

// observer returns an event handler that passes the objects of one kind to the ledger.
func (q *quotas) observer(resource schema.GroupResource) cache.ResourceEventHandler {
	observe := func(obj any) {
		if o, ok := obj.(quota.Object); ok {
			q.ledger.Observe(resource, o)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: observe,
		UpdateFunc: func(oldObj, newObj any) {
			before, ok := oldObj.(quota.Object)
			if after, isObject := newObj.(quota.Object); ok && isObject && before.GetUID() != after.GetUID() {
				q.ledger.Replace(resource, before, after)
				return
			}
			observe(newObj)
		},
		DeleteFunc: func(obj any) {
			if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = deleted.Obj
			}
			if o, ok := obj.(quota.Object); ok {
				q.ledger.Forget(resource, o)
			}
		},
	}
}

// reconcile writes the status of a quota if it has to change.
func (q *quotas) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	obj, exists, err := q.store.GetByKey(name.String())
	if err != nil {
		return 0, err
	}
	object, ok := obj.(*corev1.ResourceQuota)
	if !exists || !ok {
		q.ledger.Untrack(name)
		return 0, nil
	}
	fromServer := false
	for range quotaAttempts {
		if err := q.ledger.Track(object, func() ([]quota.Object, error) { return q.objects(name.Namespace) }); err != nil {
			return 0, err
		}
		usage := q.ledger.Compute(object, time.Now())
		if fromServer || !usage.Reread {
			after, err := q.write(ctx, object, usage)
			if !apierrors.IsConflict(err) {
				return after, err
			}
		}
		if object, err = q.read(ctx, name); err != nil || object == nil {
			return 0, err
		}
		fromServer = true
	}
	return 0, reconcile.ErrNotYet
}

// read returns a quota from the server, or nil if it does not exist. In that case, the
// informer enqueues it again when it sees the deletion.
func (q *quotas) read(ctx context.Context, name cache.ObjectName) (*corev1.ResourceQuota, error) {
	object, err := q.typed.CoreV1().ResourceQuotas(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreNotFound("read resource quota", err)
	}
	return object, nil
}

// objects returns the objects of evaluated kinds in a namespace.
func (q *quotas) objects(namespace string) ([]quota.Object, error) {
	var objects []quota.Object
	for _, informer := range q.evaluated {
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

// write writes the usage to the status of a quota, unless it is there already. It returns
// after which time to reconcile the quota again.
func (q *quotas) write(ctx context.Context, object *corev1.ResourceQuota, usage quota.Usage) (time.Duration, error) {
	if usage.Outdated {
		return 0, nil
	}
	name := cache.MetaObjectToName(object)
	if quotav1.Equals(object.Status.Hard, object.Spec.Hard) && quotav1.Equals(object.Status.Used, usage.Used) {
		q.ledger.Confirm(name, usage, "")
		return usage.ComputeAfter, incomplete(usage)
	}
	if usage.WriteAfter > 0 {
		return usage.WriteAfter, nil
	}
	object = object.DeepCopy()
	object.Status = corev1.ResourceQuotaStatus{Hard: object.Spec.Hard, Used: usage.Used}
	if err := failpoint.Fail("lifecycle:quota"); err != nil {
		return 0, err
	}
	written, err := q.typed.CoreV1().ResourceQuotas(object.Namespace).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	switch {
	case err == nil:
		q.ledger.Confirm(name, usage, written.ResourceVersion)
		return usage.ComputeAfter, incomplete(usage)
	case apierrors.IsConflict(err):
		return 0, err
	default:
		q.ledger.Confirm(name, usage, "")
		return 0, ignoreNotFound("write status of resource quota", err)
	}
}

// incomplete returns an error that causes a retry if a part of the usage is not known
// yet.
func incomplete(usage quota.Usage) error {
	if usage.Complete {
		return nil
	}
	return reconcile.ErrNotYet
}

package quota

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Object is an object of an evaluated kind: a pod, a service or a
// PersistentVolumeClaim.
type Object interface {
	runtime.Object
	metav1.Object
}

// account is what the ledger knows about one quota.
type account struct {
	uid    types.UID
	hard   corev1.ResourceList
	scopes []requirement
	// counted holds, for each resource name that limits a number of objects, the kind of
	// these objects.
	counted map[corev1.ResourceName]schema.GroupResource
	// evaluated holds, for each evaluated kind, the resource names under which it has usage.
	evaluated map[schema.GroupResource][]corev1.ResourceName

	// usage holds the usage of each object of an evaluated kind, and sum their sum.
	usage map[types.UID]corev1.ResourceList
	sum   corev1.ResourceList
	// deleting holds the pods that are being deleted. When their deadline passes, they
	// count as stuck and only have usage under count/pods.
	deleting map[types.UID]*corev1.Pod
	// released is the usage that was released since the status was last written, because
	// objects were deleted or use less.
	released corev1.ResourceList

	snapshot *snapshot
	// version and written are the resourceVersion and the time of the last write of the
	// status.
	version string
	written time.Time
}

func newAccount(quota *corev1.ResourceQuota) *account {
	return &account{
		uid: quota.UID, hard: quota.Spec.Hard, scopes: scopesOf(quota),
		counted:   map[corev1.ResourceName]schema.GroupResource{},
		evaluated: map[schema.GroupResource][]corev1.ResourceName{},
		usage:     map[types.UID]corev1.ResourceList{}, sum: corev1.ResourceList{},
		deleting: map[types.UID]*corev1.Pod{}, released: corev1.ResourceList{},
	}
}

// isFor reports whether the account is for this quota, with its current limits and scopes.
func (a *account) isFor(quota *corev1.ResourceQuota) bool {
	return a.uid == quota.UID && quotav1.Equals(a.hard, quota.Spec.Hard) &&
		apiequality.Semantic.DeepEqual(a.scopes, scopesOf(quota))
}

// Observe records the usage of an object that was created or changed.
func (l *Ledger) Observe(resource schema.GroupResource, obj Object) {
	l.changeAccounts(resource, obj, func(a *account) error { return l.record(a, obj, time.Now()) })
}

// Forget releases the usage of an object that was deleted.
func (l *Ledger) Forget(resource schema.GroupResource, obj Object) {
	l.changeAccounts(resource, obj, func(a *account) error {
		a.setUsage(obj.GetUID(), nil)
		delete(a.deleting, obj.GetUID())
		return nil
	})
}

// Replace records the usage of an object that has replaced another one of the same name, in one step: the usage is that of one of them at
// every moment. It releases what the new object uses less.
func (l *Ledger) Replace(resource schema.GroupResource, old, obj Object) {
	l.changeAccounts(resource, obj, func(a *account) error {
		if usage, ok := a.usage[old.GetUID()]; ok {
			a.usage[obj.GetUID()] = usage
		}
		delete(a.usage, old.GetUID())
		delete(a.deleting, old.GetUID())
		return l.record(a, obj, time.Now())
	})
}

// changeAccounts calls change with each account in the namespace of the object that
// limits its kind, and enqueues the quota of the account.
func (l *Ledger) changeAccounts(resource schema.GroupResource, obj Object, change func(*account) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, a := range l.accounts[obj.GetNamespace()] {
		if len(a.evaluated[resource]) == 0 {
			continue
		}
		if err := change(a); err != nil {
			klog.ErrorS(err, "the usage of an object is not recorded", "controller", "quotas", "object", klog.KObj(obj))
			continue
		}
		l.enqueue(cache.NewObjectName(obj.GetNamespace(), name))
	}
}

// record sets the usage of an object in an account.
func (l *Ledger) record(a *account, obj Object, now time.Time) error {
	resource, usage, err := l.usageOf(a, obj)
	if err != nil {
		return err
	}
	a.setUsage(obj.GetUID(), quotav1.RemoveZeros(quotav1.Mask(usage, a.evaluated[resource])))
	delete(a.deleting, obj.GetUID())
	// A pod that is not in the scopes of the quota has no usage, even when it gets stuck.
	if pod, ok := obj.(*corev1.Pod); ok && len(usage) > 0 && pod.DeletionTimestamp != nil && !finished(pod, now) {
		a.deleting[pod.UID] = pod
	}
	return nil
}

// usageOf returns the kind of an object, and its usage in an account. The usage is empty
// if the object is not in all scopes of the quota.
func (l *Ledger) usageOf(a *account, obj Object) (schema.GroupResource, corev1.ResourceList, error) {
	var e *evaluator
	switch obj.(type) {
	case *corev1.Pod:
		e = l.evaluators[corev1.Resource("pods")]
	case *corev1.Service:
		e = l.evaluators[corev1.Resource("services")]
	default:
		e = l.evaluators[corev1.Resource("persistentvolumeclaims")]
	}
	for _, scope := range a.scopes {
		if matches, err := e.matchesScope(obj, scope); err != nil || !matches {
			return e.resource, nil, err
		}
	}
	usage, err := e.usage(obj)
	return e.resource, usage, err
}

// setUsage replaces the usage of an object. If the new usage is less than the old one, it
// releases the difference.
func (a *account) setUsage(uid types.UID, usage corev1.ResourceList) {
	old := a.usage[uid]
	if len(usage) == 0 {
		delete(a.usage, uid)
	} else {
		a.usage[uid] = usage
	}
	a.sum = quotav1.Add(quotav1.Subtract(a.sum, old), usage)
	for name, quantity := range old {
		if less := minus(quantity, usage[name]); less.Sign() > 0 {
			a.release(name, less)
		}
	}
}

func (a *account) release(name corev1.ResourceName, quantity resource.Quantity) {
	a.released[name] = plus(a.released[name], quantity)
}

// expire reduces the usage of pods that are stuck in their deletion. It returns the time
// until the next pod counts as stuck, or zero if no pod is being deleted.
func (a *account) expire(now time.Time) (next time.Duration) {
	for uid, pod := range a.deleting {
		deadline, ok := deletionDeadline(pod)
		switch {
		case !ok:
			delete(a.deleting, uid)
		case now.After(deadline):
			a.setUsage(uid, quotav1.Mask(corev1.ResourceList{podCount: number(1)}, a.evaluated[corev1.Resource("pods")]))
			delete(a.deleting, uid)
		default:
			next = sooner(next, deadline.Sub(now)+time.Millisecond)
		}
	}
	return next
}

// sooner returns the shorter of two durations. Zero means no deadline and never wins.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	if b == 0 {
		return a
	}
	return min(a, b)
}

func plus(a, b resource.Quantity) resource.Quantity {
	sum := a.DeepCopy()
	sum.Add(b)
	return sum
}

func minus(a, b resource.Quantity) resource.Quantity {
	difference := a.DeepCopy()
	difference.Sub(b)
	return difference
}

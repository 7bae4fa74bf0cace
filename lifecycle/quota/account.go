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

// Object is an object of a kind that is measured.
type Object interface {
	runtime.Object
	metav1.Object
}

// account is what is known of one quota.
type account struct {
	uid    types.UID
	hard   corev1.ResourceList
	scopes []requirement
	// counts and measures are the kinds that the names of the quota are about.
	counts   map[corev1.ResourceName]schema.GroupResource
	measures map[schema.GroupResource][]corev1.ResourceName

	// uses are those of the objects that are measured, and sum is theirs.
	uses map[types.UID]corev1.ResourceList
	sum  corev1.ResourceList
	// stuck are the pods that will not count any more when they get stuck.
	stuck map[types.UID]*corev1.Pod
	// released is what objects that went, or shrank, have left since the status
	// was last written.
	released corev1.ResourceList

	sample *sample
	// version and written are those of the last status that was written.
	version string
	written time.Time
}

func newAccount(quota *corev1.ResourceQuota) *account {
	return &account{
		uid: quota.UID, hard: quota.Spec.Hard, scopes: scopesOf(quota),
		counts:   map[corev1.ResourceName]schema.GroupResource{},
		measures: map[schema.GroupResource][]corev1.ResourceName{},
		uses:     map[types.UID]corev1.ResourceList{}, sum: corev1.ResourceList{},
		stuck: map[types.UID]*corev1.Pod{}, released: corev1.ResourceList{},
	}
}

// isFor reports whether the account is one of this quota, as it is.
func (a *account) isFor(quota *corev1.ResourceQuota) bool {
	return a.uid == quota.UID && quotav1.Equals(a.hard, quota.Spec.Hard) &&
		apiequality.Semantic.DeepEqual(a.scopes, scopesOf(quota))
}

// Observe takes in an object as it is.
func (l *Ledger) Observe(resource schema.GroupResource, obj Object) {
	l.each(resource, obj, func(a *account) error { return l.take(a, obj, time.Now()) })
}

// Forget takes out an object that is gone.
func (l *Ledger) Forget(resource schema.GroupResource, obj Object) {
	l.each(resource, obj, func(a *account) error {
		a.set(obj.GetUID(), nil)
		delete(a.stuck, obj.GetUID())
		return nil
	})
}

// each changes the accounts that measure objects of a kind in the namespace of
// one.
func (l *Ledger) each(resource schema.GroupResource, obj Object, change func(*account) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, a := range l.accounts[obj.GetNamespace()] {
		if len(a.measures[resource]) == 0 {
			continue
		}
		if err := change(a); err != nil {
			klog.ErrorS(err, "an object is not measured", "controller", "quotas", "object", klog.KObj(obj))
			continue
		}
		l.enqueue(cache.NewObjectName(obj.GetNamespace(), name))
	}
}

// take puts the use of an object into an account.
func (l *Ledger) take(a *account, obj Object, now time.Time) error {
	resource, use, err := l.useOf(a, obj)
	if err != nil {
		return err
	}
	a.set(obj.GetUID(), quotav1.RemoveZeros(quotav1.Mask(use, a.measures[resource])))
	delete(a.stuck, obj.GetUID())
	// Who is out of scope is not in it for being stuck.
	if pod, ok := obj.(*corev1.Pod); ok && len(use) > 0 && pod.DeletionTimestamp != nil && !over(pod, now) {
		a.stuck[pod.UID] = pod
	}
	return nil
}

// useOf is what an object counts for in an account.
func (l *Ledger) useOf(a *account, obj Object) (schema.GroupResource, corev1.ResourceList, error) {
	var m *measure
	switch obj.(type) {
	case *corev1.Pod:
		m = l.measures[corev1.Resource("pods")]
	case *corev1.Service:
		m = l.measures[corev1.Resource("services")]
	default:
		m = l.measures[corev1.Resource("persistentvolumeclaims")]
	}
	for _, scope := range a.scopes {
		if within, err := m.scoped(obj, scope); err != nil || !within {
			return m.resource, nil, err
		}
	}
	use, err := m.use(obj)
	return m.resource, use, err
}

// set replaces the use of an object; what it does not use any more is released.
func (a *account) set(uid types.UID, use corev1.ResourceList) {
	old := a.uses[uid]
	if len(use) == 0 {
		delete(a.uses, uid)
	} else {
		a.uses[uid] = use
	}
	a.sum = quotav1.Add(quotav1.Subtract(a.sum, old), use)
	for name, quantity := range old {
		if less := minus(quantity, use[name]); less.Sign() > 0 {
			a.release(name, less)
		}
	}
}

func (a *account) release(name corev1.ResourceName, quantity resource.Quantity) {
	a.released[name] = plus(a.released[name], quantity)
}

// expire has pods taken in again that got stuck, and says when the next will be.
func (l *Ledger) expire(a *account, now time.Time) (next time.Duration) {
	for uid, pod := range a.stuck {
		deadline, ok := stuckAt(pod)
		switch {
		case !ok:
			delete(a.stuck, uid)
		case now.After(deadline):
			a.set(uid, quotav1.Mask(corev1.ResourceList{podCount: number(1)}, a.measures[corev1.Resource("pods")]))
			delete(a.stuck, uid)
		default:
			next = sooner(next, deadline.Sub(now)+time.Millisecond)
		}
	}
	return next
}

// sooner is the shorter of two waits, of which no wait at all is none.
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

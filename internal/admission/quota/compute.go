package quota

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/cache"
)

const (
	// chargeExpiry is how long a charge may exist before its object is observed. After
	// that, the charge counts as failed.
	chargeExpiry = 10 * time.Second
	// writeInterval is the shortest time between two writes of the status of a quota.
	writeInterval = 200 * time.Millisecond
)

// Usage is the usage that the status of a quota should have.
type Usage struct {
	// Used holds the usage under each resource name of the quota. While the usage under a
	// name is not known, Used has the value of the status, or no value if the status has
	// none.
	Used corev1.ResourceList
	// Complete is false if Used has no value for a name because the usage is not known yet.
	Complete bool
	// Outdated says that the quota is older than the version that was last written, or
	// is not tracked. The caller has nothing to do until it sees a newer version.
	Outdated bool
	// Reread says that status.used, minus the released usage, is less than the usage of
	// the objects. The quota may be outdated, so the caller should read it from the server
	// and call Compute again. If Reread is still true, Used is right and the status is
	// wrong.
	Reread bool
	// ComputeAfter is the time after which to call Compute again. Zero means only after
	// a change.
	ComputeAfter time.Duration
	// WriteAfter is how long to wait before the status is written, so that many changes
	// lead to few writes.
	WriteAfter time.Duration

	account  *account
	released corev1.ResourceList
}

// snapshot holds the usage in the status at a point in time. released is the usage that was
// released since then and is already subtracted from the status.
type snapshot struct {
	at             time.Time
	used, released corev1.ResourceList
}

// Compute returns the usage that the status of the quota should have: status.used minus the
// released usage and the expired charges, but at least the usage of the observed objects. It
// may be more than the usage of the observed objects, because admission has charged the quota
// for objects that the ledger has not observed yet. The status must keep these charges.
func (l *Ledger) Compute(quota *corev1.ResourceQuota, now time.Time) Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[quota.Namespace][quota.Name]
	if a == nil || older(quota.ResourceVersion, a.version) {
		return Usage{Outdated: true}
	}
	u := Usage{Complete: true, account: a, Used: corev1.ResourceList{}, ComputeAfter: a.expire(now)}
	u.released = a.released.DeepCopy()
	observed := corev1.ResourceList{}
	hasCharges := false
	for name := range quota.Spec.Hard {
		total, tracked, known := l.observed(quota.Namespace, a, name)
		used, inStatus := quota.Status.Used[name]
		switch {
		case !tracked:
		case !known && inStatus:
			u.Used[name] = used
		case !known:
			u.Complete = false
		case !inStatus:
			u.Used[name] = total
		default:
			observed[name] = total
			left := minus(used, u.released[name])
			u.Reread = u.Reread || left.Cmp(total) < 0
			left = atLeast(left, total)
			u.Used[name] = left
			hasCharges = hasCharges || left.Cmp(total) > 0
		}
	}
	if hasCharges {
		u.ComputeAfter = sooner(u.ComputeAfter, a.expireCharges(&u, observed, now))
	} else {
		a.snapshot = nil
	}
	u.WriteAfter = max(0, writeInterval-now.Sub(a.written))
	return u
}

// expireCharges subtracts charges that are older than chargeExpiry and have no object. To
// find them, the account keeps a snapshot of the used amounts. When the snapshot is as old
// as chargeExpiry, the ledger has observed every stored object that was charged before the
// snapshot. So the charges without an object are the used amounts of the snapshot, minus the
// usage that was released since, minus the usage of the observed objects. expireCharges
// returns the time until the current snapshot expires.
func (a *account) expireCharges(u *Usage, observed corev1.ResourceList, now time.Time) time.Duration {
	if a.snapshot != nil && now.Sub(a.snapshot.at) >= chargeExpiry {
		for name, total := range observed {
			used, ok := a.snapshot.used[name]
			if !ok {
				continue
			}
			surplus := minus(minus(minus(used, a.snapshot.released[name]), u.released[name]), total)
			if surplus.Sign() > 0 {
				u.Used[name] = atLeast(minus(u.Used[name], surplus), total)
			}
		}
		a.snapshot = nil
	}
	if a.snapshot == nil {
		a.snapshot = &snapshot{at: now, used: u.Used.DeepCopy(), released: corev1.ResourceList{}}
	}
	return chargeExpiry - now.Sub(a.snapshot.at)
}

// observed returns the usage of the observed objects under a resource name. tracked is
// false if the ledger computes no usage under the name. known is false if the objects are
// not listed yet.
func (l *Ledger) observed(namespace string, a *account, name corev1.ResourceName) (total resource.Quantity, tracked, known bool) {
	if counted, ok := a.counted[name]; ok {
		// All scopes are for pods or claims. Objects of other kinds are in none.
		if len(a.scopes) > 0 {
			return number(0), true, true
		}
		count := l.counts.objects[kindInNamespace{resource: counted, namespace: namespace}]
		return number(int(count)), true, l.counts.complete(counted)
	}
	if l.evaluatorFor(name) == nil {
		return total, false, false
	}
	if sum, ok := a.sum[name]; ok {
		return sum.DeepCopy(), true, true
	}
	return number(0), true, true
}

// Confirm tells the ledger that the usage was written to the status, so that it does not
// subtract the released amounts again. version is the resourceVersion of the written
// quota. It is empty if there was nothing to write, or if the caller does not know
// whether the write succeeded.
func (l *Ledger) Confirm(quota cache.ObjectName, u Usage, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[quota.Namespace][quota.Name]
	if a == nil || a != u.account {
		return
	}
	for name, quantity := range u.released {
		left := minus(a.released[name], quantity)
		if left.Sign() > 0 {
			a.released[name] = left
		} else {
			delete(a.released, name)
		}
		if a.snapshot != nil {
			a.snapshot.released[name] = plus(a.snapshot.released[name], quantity)
		}
	}
	if version != "" {
		a.version, a.written = version, time.Now()
	}
}

// atLeast returns a, or minimum if a is less.
func atLeast(a, minimum resource.Quantity) resource.Quantity {
	if a.Cmp(minimum) < 0 {
		return minimum
	}
	return a
}
